"use strict";
// Draws the reference page from the OpenAPI document of this server; nothing is asked of any other.
// A padlock alone does not tell whether a token is needed or only shows more.
const signInNote = (security) => {
  const ways = security || [];
  if (ways.every((way) => Object.keys(way).length === 0)) return "open";
  if (ways.some((way) => !("oauth" in way) && Object.keys(way).length > 0)) return "signature needed";
  return ways.some((way) => Object.keys(way).length === 0) ? "sign-in optional" : "sign-in needed";
};
const notes = () => ({
  wrapComponents: {
    OperationSummary: (Original, {React}) => (props) => {
      const {op, security} = props.operationProps.toJS();
      const note = signInNote((op && op.security) || security);
      return React.createElement("div", {className: "with-note", "data-sign-in": note},
        React.createElement(Original, props), React.createElement("span", {className: "sign-in-note"}, note));
    },
  },
});
SwaggerUIBundle({
  plugins: [notes],
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  presets: [SwaggerUIBundle.presets.apis],
});
