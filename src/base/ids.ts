import { randomFillSync, randomUUID } from 'node:crypto'

/** Random bytes are drawn for many ids at once: asking the generator costs more than an id does. */
const POOL = Buffer.alloc(8 * 1024)

/** Draws characters from an alphabet of a power of two; they are made in stock and cut off piece by piece. */
function randomCharacters(alphabet: string): (count: number) => string {
  const mask = alphabet.length - 1
  let stock = ''
  let used = 0
  return (count) => {
    if (used + count > stock.length) {
      randomFillSync(POOL)
      for (let i = 0; i < POOL.length; i++) POOL[i] = alphabet.charCodeAt(POOL[i]! & mask)
      stock = POOL.toString('latin1')
      used = 0
    }
    used += count
    return stock.slice(used - count, used)
  }
}

const drawUrlSafe = randomCharacters('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')

/** An id for one request in the log: 96 random bits, url-safe. Not a secret and not time-ordered. */
export function newRequestId(): string {
  return `req-${drawUrlSafe(16)}`
}

/** Crockford's alphabet in lower case: digits first, so that texts sort like the numbers they stand for. */
const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz'
const TIME_CHARS = 10
const RANDOM_CHARS = 16
const drawLetters = randomCharacters(BASE32)

/** The id of a generation (contract/decisions 2): 10 characters of time and 16 random ones, sorting by time. */
export function newGenerationId(unixMs: number): string {
  return `gen-${timePrefix(unixMs)}${drawLetters(RANDOM_CHARS)}`
}

let prefixOf = -1
let prefix = ''

/** Ids of the same millisecond share their first part. */
function timePrefix(unixMs: number): string {
  if (unixMs === prefixOf) return prefix
  let text = ''
  let rest = unixMs
  for (let i = 0; i < TIME_CHARS; i++) {
    text = BASE32[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  prefixOf = unixMs
  prefix = text
  return text
}

/**
 * UUID version 7 (RFC 9562 section 5.7): time-ordered. Its random bits and its variant are those of a version 4, which
 * Node draws from a stock: drawing bytes for one id alone costs twenty times as much.
 */
export function newUuidV7(unixMs: number): string {
  const time = unixMs.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
