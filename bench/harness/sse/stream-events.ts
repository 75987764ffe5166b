/** What one event of a model's stream is, by its bytes: nothing is parsed, so that the driver is not what is measured. */

/** `token`: carries content. `other`: a role, a usage, reasoning, a ping. `end`: the format's own last event. */
type EventKind = 'token' | 'other' | 'end' | 'error'

/** Content in the formats of chat, messages and responses. A quote inside of JSON text is escaped, so none is taken for a key. */
const CONTENT_KEYS = ['"content":"', '"text":"', '"delta":"'].map((text) => Buffer.from(text))
const ENDS = ['data: [DONE]', 'data:[DONE]', '"type":"message_stop"', '"type":"response.completed"'].map(
  (text) => Buffer.from(text),
)
const ERRORS = ['event: error', 'data: {"error"', '"type":"error"'].map((text) => Buffer.from(text))
const COLON = 58
const QUOTE = 34

/** `from..to` is one event without the blank line behind it. */
export function classifyEvent(bytes: Buffer, from: number, to: number): EventKind {
  // A comment keeps a connection alive and says nothing.
  if (bytes[from] === COLON) return 'other'
  if (CONTENT_KEYS.some((key) => hasNonEmptyText(bytes, key, from, to))) return 'token'
  if (ENDS.some((end) => containsBytes(bytes, end, from, to))) return 'end'
  return ERRORS.some((error) => containsBytes(bytes, error, from, to)) ? 'error' : 'other'
}

/** The key is there and its text is not empty. */
function hasNonEmptyText(bytes: Buffer, key: Buffer, from: number, to: number): boolean {
  const at = bytes.indexOf(key, from)
  return at >= 0 && at + key.length < to && bytes[at + key.length] !== QUOTE
}

function containsBytes(bytes: Buffer, what: Buffer, from: number, to: number): boolean {
  const at = bytes.indexOf(what, from)
  return at >= 0 && at < to
}
