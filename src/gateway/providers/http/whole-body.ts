/** Room for the body of a whole answer. */
import { BoundedTextBody, contentLengthOf } from '../../../upstream/body-text.js'
import type { ResponseHeaders } from '../port/failure.js'

const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** A body of up to 64 MiB. */
export function answerText(headers: ResponseHeaders): BoundedTextBody {
  return new BoundedTextBody(MAX_ANSWER_BYTES, contentLengthOf(headers))
}
