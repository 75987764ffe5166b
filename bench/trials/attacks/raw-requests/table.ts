/** All raw requests: what is right for each, whatever server gets it. */
import { CHUNK_GRAMMAR } from './chunks.js'
import { CODINGS } from './codings.js'
import { CONNECTIONS } from './connections.js'
import { CUTS } from './cuts.js'
import { FIELDS } from './fields.js'
import { LENGTHS } from './lengths.js'
import type { RawRequest } from './raw-request.js'
import { REQUEST_LINES } from './request-lines.js'

export const RAW_REQUESTS: readonly RawRequest[] = [
  ...LENGTHS,
  ...CODINGS,
  ...CHUNK_GRAMMAR,
  ...FIELDS,
  ...REQUEST_LINES,
  ...CONNECTIONS,
  ...CUTS,
]
