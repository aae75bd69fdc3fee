// The part of a function's process that is Node.js: it imports the handler and calls it with one event after another.
// Requests come as lines of JSON on descriptor 3, answers go as lines to descriptor 4. The errors are those of AWS's
// Node.js runtime.
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import readline from "node:readline";
import util from "node:util";
import { pathToFileURL } from "node:url";

const answers = 4, largest = 6_291_556; // Lambda quotas: synchronous payloads, in bytes
// A socket, not a file stream: process.exit would wait for a file's pending read.
const requests = new net.Socket({ fd: 3, readable: true });
let requestId = "";

for (const [name, level] of [["log", "INFO"], ["debug", "DEBUG"], ["info", "INFO"], ["warn", "WARN"], ["error", "ERROR"]]) {
  console[name] = (...values) => {
    const text = util.format(...values).replaceAll("\n", "\r");
    fs.writeSync(1, `${new Date().toISOString()}\t${requestId || "undefined"}\t${level}\t${text}\n`);
  };
}

function failure(kind, message, trace = []) {
  return { errorType: kind, errorMessage: message, trace };
}

function raised(error) {
  if (!(error instanceof Error)) return failure(typeof error, util.inspect(error));
  const shown = failure(error.name || "Error", error.message, String(error.stack || "").split("\n"));
  console.error("Invoke Error", JSON.stringify({ ...shown, stack: shown.trace, trace: undefined }));
  return shown;
}

async function load(name) {
  const dot = name.lastIndexOf(".");
  if (dot < 1) return { error: failure("Runtime.MalformedHandlerName", "Bad handler") };
  const [module, member] = [name.slice(0, dot), name.slice(dot + 1)];
  const file = [".js", ".mjs", ".cjs"].map((end) => path.resolve(module + end)).find((each) => fs.existsSync(each));
  if (!file) return { error: failure("Runtime.ImportModuleError", `Error: Cannot find module '${module}'`) };
  try {
    const loaded = await import(pathToFileURL(file).href);
    const handler = loaded[member] ?? loaded.default?.[member];
    if (handler === undefined) {
      return { error: failure("Runtime.HandlerNotFound", `${name} is undefined or not exported`) };
    }
    if (typeof handler !== "function") return { error: failure("Runtime.HandlerNotFound", `${name} is not a function`) };
    return { handler };
  } catch (error) {
    const stack = String(error?.stack || error).split("\n");
    if (error instanceof SyntaxError) {
      return { error: failure("Runtime.UserCodeSyntaxError", `SyntaxError: ${error.message}`, stack) };
    }
    if (["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND"].includes(error?.code)) {
      return { error: failure("Runtime.ImportModuleError", `Error: ${error.message}`, stack) };
    }
    return { error: raised(error) };
  }
}

function contextOf(request, finish) {
  const ends = performance.now() + 1000 * request.timeout_s;
  const fail = (error) => finish({ error: raised(error ?? new Error("null")) });
  return {
    callbackWaitsForEmptyEventLoop: true,
    awsRequestId: request.request_id,
    functionName: request.name,
    functionVersion: request.version,
    invokedFunctionArn: request.arn,
    memoryLimitInMB: String(request.memory_mb),
    logGroupName: request.log_group,
    logStreamName: request.log_stream,
    clientContext: request.client_context ?? undefined,
    getRemainingTimeInMillis: () => Math.max(0, Math.floor(ends - performance.now())),
    done: (error, result) => (error ? fail(error) : finish({ result })),
    fail,
    succeed: (result) => finish({ result }),
  };
}

function call(handler, request) {
  return new Promise((resolve) => {
    // A handler that neither returns nor calls back answers null once nothing is left to wait for, as on AWS.
    const idle = () => finish({ result: null });
    const finish = (outcome) => {
      process.off("beforeExit", idle);
      requests.ref();
      resolve(outcome);
    };
    process.once("beforeExit", idle);
    requests.unref();
    const context = contextOf(request, finish);
    const unhandled = (error) => {
      const kind = "Runtime.UnhandledPromiseRejection";
      const message = error instanceof Error ? `${error.name}: ${error.message}` : util.inspect(error);
      finish({ error: failure(kind, message, String(error?.stack || "").split("\n")) });
    };
    process.removeAllListeners("unhandledRejection").on("unhandledRejection", unhandled);
    try {
      const returned = handler(JSON.parse(request.event), context, context.done);
      if (typeof returned?.then === "function") {
        returned.then((result) => finish({ result }), (error) => finish({ error: raised(error) }));
      } else if (handler.length < 3 && returned !== undefined) {
        finish({ result: returned });
      }
    } catch (error) {
      finish({ error: raised(error) });
    }
  });
}

function answered(outcome) {
  if (outcome.error) return { error: { ...outcome.error, requestId } };
  try {
    const payload = JSON.stringify(outcome.result) ?? "null";
    if (Buffer.byteLength(payload) <= largest) return { payload };
    const message = `Response payload size exceeded maximum allowed payload size (${largest} bytes).`;
    return { error: { errorType: "Function.ResponseSizeTooLarge", errorMessage: message } };
  } catch (error) {
    return { error: { ...failure("Runtime.MarshalError", `Unable to stringify response body: ${error.message}`), requestId } };
  }
}

function send(answer) {
  const line = Buffer.from(JSON.stringify(answer) + "\n");
  for (let at = 0; at < line.length; ) at += fs.writeSync(answers, line, at);
}

const loaded = await load(process.env._HANDLER ?? "");
send({});
for await (const line of readline.createInterface({ input: requests })) {
  const request = JSON.parse(line);
  requestId = request.request_id;
  const answer = answered(loaded.error ? { error: loaded.error } : await call(loaded.handler, request));
  send({ ...answer, memory_mb: Math.round(process.resourceUsage().maxRSS / 1024) });
}
