// Passkeys: the ceremony begins at the server, goes through the browser, and ends at the server.
"use strict";
(() => {
  const signIn = document.getElementById("passkey-signin");
  const add = document.getElementById("passkey-add");
  const status = document.getElementById("passkey-status");
  if (!window.PublicKeyCredential || !status) return;

  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const text = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  const post = async (path, body) => {
    const answer = await fetch(path, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error.message);
    return said;
  };

  // The members of options that are bytes travel as base64url.
  const decode = (options) => {
    options.challenge = bytes(options.challenge);
    if (options.user) options.user.id = bytes(options.user.id);
    for (const list of [options.excludeCredentials, options.allowCredentials]) {
      for (const c of list || []) c.id = bytes(c.id);
    }
    return options;
  };

  const encode = (credential) => {
    const response = {};
    for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
      if (credential.response[name]) response[name] = text(credential.response[name]);
    }
    if (credential.response.getTransports) response.transports = credential.response.getTransports();
    return {
      id: credential.id, rawId: text(credential.rawId), type: credential.type, response,
      authenticatorAttachment: credential.authenticatorAttachment || undefined,
      clientExtensionResults: credential.getClientExtensionResults(),
    };
  };

  // run does a ceremony and goes to where the server says.
  const run = async (path, use, more) => {
    status.textContent = "";
    try {
      const begun = await post(path + "/begin", more);
      if (begun.location) return location.assign(begun.location); // to sign in again first
      const credential = await use({ publicKey: decode(begun.options.publicKey) });
      const done = await post(path + "/finish", { flow: begun.flow, credential: encode(credential), ...more });
      location.assign(done.location);
    } catch (e) {
      const quiet = e.name === "NotAllowedError" || e.name === "AbortError";
      status.textContent = quiet ? "The passkey was not used." :
        e.name === "InvalidStateError" ? "This device has a passkey of this account already." : e.message;
    }
  };

  if (signIn) {
    signIn.hidden = false;
    signIn.addEventListener("click", () =>
      run("/signin/passkey", (o) => navigator.credentials.get(o), { return: signIn.dataset.return }));
  }
  if (add) {
    add.hidden = false;
    add.addEventListener("submit", (event) => {
      event.preventDefault();
      run("/account/passkeys", (o) => navigator.credentials.create(o), { name: add.elements.name.value });
    });
  }
})();
