// Verifies signatures with the reference implementation of Standard Webhooks, which shares no code with ours.
// stdin: [{secret, headers, body}]. stdout: for each null, or why it was refused.
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

function refusal({ secret, headers, body }) {
  try {
    new Webhook(secret).verify(body, headers)
    return null
  } catch (error) {
    return error.message
  }
}

console.log(JSON.stringify(JSON.parse(await text(process.stdin)).map(refusal)))
