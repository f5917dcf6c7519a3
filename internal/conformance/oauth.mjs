// A sign-in at the demo with a library that holds every answer against its RFC.
import * as oauth from "oauth4webapi";
import { callback } from "./demo.mjs";

export const insecure = { [oauth.allowInsecureRequests]: true }; // http, on loopback

// signIn discovers the authorization server, registers a client, and has the person allow it a scope.
export async function signIn(demo, scope) {
  const issuer = new URL(demo.url);
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }));
  const page = await callback();
  try {
    const metadata = { client_name: "Ember", redirect_uris: [page.url], token_endpoint_auth_method: "none" };
    const client = await oauth.processDynamicClientRegistrationResponse(await oauth.dynamicClientRegistrationRequest(as, metadata, insecure));
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const ask = new URL(as.authorization_endpoint);
    ask.search = new URLSearchParams({
      client_id: client.client_id, redirect_uri: page.url, response_type: "code", scope, state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: "S256",
    });
    const arrived = page.next();
    await demo.person.allow(ask.href);
    const answer = oauth.validateAuthResponse(as, client, await arrived, state); // with iss, which the metadata promises
    const response = await oauth.authorizationCodeGrantRequest(as, client, oauth.None(), answer, page.url, verifier, insecure);
    return { as, client, tokens: await oauth.processAuthorizationCodeResponse(as, client, response) };
  } finally {
    page.close();
  }
}
