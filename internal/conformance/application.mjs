// An application that talks MCP through a library and lets people sign in at the demo.
import assert from "node:assert/strict";
import { callback } from "./demo.mjs";

// An Application is what both libraries of the protocol ask of a program that uses them: it keeps what they learn, and
// sends a person to the authorization server.
class Application {
  clientMetadata = { client_name: "Ember", grant_types: ["authorization_code", "refresh_token"], response_types: ["code"], token_endpoint_auth_method: "none" };

  constructor(demo, page) {
    this.demo = demo;
    this.page = page;
    this.redirectUrl = page.url;
    this.clientMetadata.redirect_uris = [page.url];
  }
  state = () => (this.sent = crypto.randomUUID());
  clientInformation = () => this.client;
  saveClientInformation = (client) => void (this.client = client);
  tokens = () => this.kept;
  saveTokens = (tokens) => void (this.kept = tokens);
  codeVerifier = () => this.verifier;
  saveCodeVerifier = (verifier) => void (this.verifier = verifier);
  discoveryState = () => this.discovered;
  saveDiscoveryState = (state) => void (this.discovered = state);
  redirectToAuthorization = (url) => void (this.answer = this.person(url));

  async person(url) {
    const arrived = this.page.next();
    await this.demo.person.allow(url.href);
    const answer = await arrived;
    assert.equal(answer.get("state"), this.sent);
    assert.equal(answer.get("iss"), this.demo.url);
    return answer;
  }
}

// withApplication has a client of a library talk to an endpoint of the demo: open connects, call calls a tool, and again
// does what it is given twice, since the first time it must end in a sign-in.
export async function withApplication(library, demo, path, talk) {
  const page = await callback();
  const app = new Application(demo, page);
  let client, transport;
  const open = () => {
    client = new library.Client({ name: "ember", version: "1" }, library.options);
    transport = new library.Transport(new URL(demo.url + path), { authProvider: app });
    return client.connect(transport);
  };
  const again = async (ask) => {
    try {
      await ask();
    } catch (error) {
      if (!(error instanceof library.UnauthorizedError)) throw error;
      const answer = await app.answer;
      await transport.finishAuth(library.stepsUp ? answer : answer.get("code"));
      return ask();
    }
    throw new Error("no sign-in was asked for");
  };
  try {
    await talk({ app, open, again, call: (name, args) => client.callTool({ name, arguments: args }) });
  } finally {
    await client.close();
    page.close();
  }
}
