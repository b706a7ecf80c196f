"use strict";

const place = document.getElementById("reference");
const documents = JSON.parse(place.dataset.documents);

// Several documents are offered in a bar at the top; one alone needs no bar.
const choice = documents.length > 1
  ? { urls: documents, "urls.primaryName": documents[0].name, layout: "StandaloneLayout" }
  : { url: documents[0].url, layout: "BaseLayout" };

SwaggerUIBundle({
  ...choice,
  domNode: place,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  plugins: [SwaggerUIBundle.plugins.DownloadUrl],
  deepLinking: true,
  validatorUrl: null, // sends the document to no validator
  defaultModelsExpandDepth: 0,
});
