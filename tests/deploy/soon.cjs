// Preloaded into the CDK command line, which looks at a stack every 5 seconds: an emulated one is done sooner.
const later = globalThis.setTimeout;
const soon = (call, milliseconds, ...rest) => later(call, milliseconds === 5000 ? 200 : milliseconds, ...rest);
globalThis.setTimeout = Object.defineProperties(soon, Object.getOwnPropertyDescriptors(later));
