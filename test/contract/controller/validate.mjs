// Validates messages of the lane link against a JSON Schema with ajv, and prints what is wrong with those that break it.
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { text } from "node:stream/consumers";

const { schema, messages } = JSON.parse(await text(process.stdin));
const ajv = addFormats(new Ajv2020({ allErrors: true, strict: true, strictTypes: false, strictRequired: false }));
ajv.addSchema(schema);
const sides = { gateway: "fromGateway", controller: "fromController" };
const faults = messages.flatMap(({ from, message }) => {
  const validate = ajv.getSchema(`${schema.$id}#/$defs/${sides[from]}`);
  return validate(message) ? [] : [`${from}: ${JSON.stringify(message)}: ${ajv.errorsText(validate.errors)}`];
});
console.log(JSON.stringify(faults));
