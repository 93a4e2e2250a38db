// Run one handler of CDK's provider framework as it is, with Lambda, Step Functions and HTTPS answered here.
// Usage: node framework.cjs DIRECTORY_OF_THE_RUNTIME, a JSON object {handler, event, answer} on standard input.
const Module = require("module");
const path = require("path");

const load = Module._load;
Module._load = (name, ...rest) => (name.startsWith("@aws-sdk/") ? {} : load(name, ...rest));

const runtime = path.resolve(process.argv[2]);
const job = JSON.parse(require("fs").readFileSync(0, "utf8"));
const seen = { invoked: 0 };
const outbound = require(path.join(runtime, "outbound.js"));
outbound.invokeFunction = async () => {
  seen.invoked += 1;
  return job.answer;
};
outbound.startExecution = async (request) => {
  seen.waiting = JSON.parse(request.input);
};
outbound.httpRequest = async (_, body) => {
  seen.response = JSON.parse(body);
  seen.bytes = Buffer.byteLength(body);
};

console.log = () => {};
// The longest name that Lambda gives.
const functionArn = "arn:aws:lambda:us-east-2:111122223333:function:" + "f".repeat(64);
process.env.USER_ON_EVENT_FUNCTION_ARN = functionArn;
process.env.USER_IS_COMPLETE_FUNCTION_ARN = functionArn;
process.env.WAITER_STATE_MACHINE_ARN = "arn:aws:states:us-east-2:111122223333:stateMachine:waiter";

require(path.join(runtime, "framework.js"))
  [job.handler](job.event)
  .catch((error) => (seen.retry = error.message))
  .then(() => process.stdout.write(JSON.stringify(seen)));
