// Leads WebSockets that Node.js programs open at AWS's address of AgentCore to the local AgentCore. Loaded with
// `node --require`, which NODE_OPTIONS gives: neither Node.js nor the `ws` package, by which Playwright connects to a
// browser, asks the environment for the proxy of a WebSocket. Everything else keeps its connection.
"use strict";

const net = require("net");
const tls = require("tls");

const SERVED = /^bedrock-agentcore\.[a-z]{2}(-[a-z]{2,15}){1,3}-\d{1,2}\.(amazonaws\.com(\.cn)?|api\.aws)$/;
const LOCAL = /^http:\/\/(127\.0\.0\.1|localhost):(\d{1,5})\/?$/;

const connect = tls.connect;

tls.connect = function (...args) {
  const [options] = args;
  const local = LOCAL.exec(process.env.AWS_ENDPOINT_URL_BEDROCK_AGENTCORE || process.env.AWS_ENDPOINT_URL || "");
  if (local && options && typeof options === "object" && !options.socket && SERVED.test(options.host || "")) {
    return net.connect({ host: local[1], port: Number(local[2]) });
  }
  return connect.apply(this, args);
};
