/**
 * What the native server cannot do with raw requests, and what it does instead. The sentences are those of the guide
 * (docs/guide/behind-a-proxy.md); a test holds both together.
 */

/** The two builds of the native server, alone; or a proxy of examples/machine in front. */
export type Server = 'older' | 'newer' | 'nginx' | 'haproxy'

export interface Limit {
  readonly of: readonly Server[]
  /** Names of requests, or of groups with their slash. The first limit that names a request counts. */
  readonly requests: readonly string[]
  readonly does: {
    /** Statuses that it may be answered with, alone; 0 for no answer. */
    readonly answers: readonly number[]
    /** It may be run. */
    readonly runs?: true
    /** What is behind it may be run. */
    readonly stays?: true
  }
  /** What is so, and why. */
  readonly says: string
  readonly remedy: string
}

const SHIPPED_PROXY = 'any proxy'

export const LIMITS: readonly Limit[] = [
  {
    of: ['older', 'newer'],
    requests: [
      'field-name/empty',
      'field-name/empty, without a value',
      'field-name/nothing but a colon and a blank',
      'field-name/empty, in front of a length that holds a request',
    ],
    does: { answers: [200, 422], stays: true },
    says: 'A field without a name (`: v`) is taken for the end of the fields, and hides those behind it, a length too: what it frames is then read as the next request.',
    remedy: SHIPPED_PROXY,
  },
  {
    of: ['older', 'newer'],
    requests: ['high-bytes/'],
    does: { answers: [201], runs: true, stays: true },
    says: 'Bytes of 0x80 and above are cut off both ends of field values, which counts them as white space, before the guard sees them.',
    remedy: SHIPPED_PROXY,
  },
  {
    of: ['older', 'newer'],
    requests: ['chunk-extension/'],
    does: { answers: [0, 201, 400, 408, 422], runs: true },
    says: 'Chunk extensions are not known: `;` is read as a digit, so a chunk that has one is far too long, and its request waits until a timer ends the connection, or is 400.',
    remedy: 'a length, or nginx',
  },
  {
    of: ['older', 'newer'],
    requests: ['chunk-trailer/'],
    does: { answers: [0, 201, 505], runs: true },
    says: 'Trailers are not known: they are read as the next request, so theirs is not run and gets 505.',
    remedy: 'a length, or nginx',
  },
  {
    of: ['older', 'newer'],
    requests: ['chunk-size/', 'chunk-end/'],
    does: { answers: [0, 201, 400, 408, 422, 505], runs: true },
    says: 'Malformed chunks are taken: the digits run up to `@` and beyond `f`, an empty size line is the last chunk, and the line end behind a chunk may be any two bytes. Nothing behind such a body is run.',
    remedy: SHIPPED_PROXY,
  },
  {
    of: ['older'],
    requests: [
      'field-name/',
      'field-value/',
      'folded/',
      'line-ends/',
      'host/none and no field at all',
      'coding-and-length/a vertical tab in front and a length',
      'target/a bare carriage return inside',
      'version/nothing but a target',
      'version/a line of garbage',
      'version/a JSON text',
    ],
    does: { answers: [0] },
    says: 'A malformed field, a folded one, and a request without any is taken for the beginning of one that is still to come: there is no answer, and the connection ends with the idle timer.',
    remedy: SHIPPED_PROXY,
  },
  {
    of: ['newer'],
    requests: [
      'field-value/',
      'line-ends/',
      'target/a bare carriage return inside',
      'version/nothing but a target',
      'version/a line of garbage',
      'version/a JSON text',
    ],
    does: { answers: [0] },
    says: 'A bare carriage return in a field, and a line that is none, are taken for the beginning of a request that is still to come: there is no answer, and the connection ends with the idle timer.',
    remedy: SHIPPED_PROXY,
  },
  {
    of: ['older'],
    requests: ['cut-get/'],
    does: { answers: [505] },
    says: 'The request line is misread (505) when the first TCP segment ends right behind the method, or between the target and the end of the line.',
    remedy: SHIPPED_PROXY,
  },
]
