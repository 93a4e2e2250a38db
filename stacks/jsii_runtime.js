// jsii's own program, started without the process that jsii puts before it to sort its output.
"use strict";
const fs = require("fs");

// jsii's program reads and writes its messages here; Python has them on standard input and output.
const CHANNEL = 3;
const { readSync, writeSync } = fs;
fs.readSync = (descriptor, ...rest) => readSync(descriptor === CHANNEL ? 0 : descriptor, ...rest);
fs.writeSync = (descriptor, ...rest) => writeSync(descriptor === CHANNEL ? 1 : descriptor, ...rest);
// What the CDK prints is no message.
process.stdout.write = process.stderr.write.bind(process.stderr);
// Two processes have both cores busy: threads that help to collect garbage only get in their way.
require("v8").setFlagsFromString("--single-threaded-gc");
// As jsii starts it: the CDK's package is one link then, and not a copy of 7,600 files.
process.execArgv.push("--preserve-symlinks");

require(process.env.TRAINSHED_JSII_PROGRAM);
