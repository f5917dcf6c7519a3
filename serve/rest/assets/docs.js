"use strict";
// Draws the reference page from the OpenAPI document of this server; nothing is asked of any other.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  presets: [SwaggerUIBundle.presets.apis],
});
