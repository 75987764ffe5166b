/** What a provider holds of tapes: as many bytes as it may, and the tapes that were used last. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { test } from 'tap'
import { behaviourSchema } from '../../src/simulator/behaviour.js'
import { SeededRandom } from '../../src/simulator/random.js'
import type { TapeDeck } from '../../src/simulator/tape-deck.js'
import { TapedEndpoint, TapeShelf } from '../../src/simulator/tape-shelf.js'
import { formatStream, type TapedStream } from '../../src/tape/tape.js'
import { makeFolder } from '../support/data/temp-folder.js'
import { eventually } from '../support/timing/eventually.js'

const stream = (tokens: number): TapedStream => ({
  ...{ v: 1, at: 0, model: 'm', in: 1, out: tokens, ttft: 10, gaps: [], tok: [tokens], end: 'stop' },
})
const [BEFORE, AFTER] = [stream(1), stream(2)].map(formatStream) as [string, string]
const BYTES = Buffer.byteLength(BEFORE)

/** Tapes of `BYTES` each, by their names. */
function tapes(...names: string[]): string[] {
  const folder = makeFolder()
  return names.map((name) => {
    const file = join(folder, `${name}.ndjson`)
    writeFileSync(file, BEFORE)
    return file
  })
}

function endpointFor(shelf: TapeShelf, ...files: string[]): TapedEndpoint {
  const { tape } = behaviourSchema.parse({ tape: files.map((file) => ({ file })) })
  return new TapedEndpoint(shelf, [tape!].flat(), 'sim/test')
}

const deckOf = async (endpoint: TapedEndpoint): Promise<TapeDeck> => (await endpoint.deck())()
const draw = (deck: TapeDeck) => deck.draw(new SeededRandom({ low: 1, high: 2 }, 0))
/** 1 of what was read before the files were written anew, 2 of what was read later. */
const tokensOf = async (endpoint: TapedEndpoint): Promise<number> => draw(await deckOf(endpoint)).tokens

test('tapes are kept by their bytes and not by their number', async (t) => {
  const shelf = new TapeShelf()
  const files = tapes(...Array.from({ length: 100 }, (_, at) => `tape-${at}`))
  for (const file of files) await deckOf(endpointFor(shelf, file))
  for (const file of files) writeFileSync(file, AFTER)
  const read = await Promise.all(files.map((file) => tokensOf(endpointFor(shelf, file))))
  t.same(new Set(read), new Set([1]))
})

test('the tape that nobody has used for longest goes, for the endpoint that has read it as well', async (t) => {
  const shelf = new TapeShelf(2 * BYTES + 1)
  const files = tapes('a', 'b', 'c')
  const [a, b, c] = files.map((file) => endpointFor(shelf, file)) as [
    TapedEndpoint,
    TapedEndpoint,
    TapedEndpoint,
  ]
  for (const endpoint of [a, b, a, c]) await deckOf(endpoint)
  for (const file of files) writeFileSync(file, AFTER)
  t.same([await tokensOf(a), await tokensOf(c)], [1, 1])
  t.equal(await tokensOf(b), 2, 'it is read again')
  t.same([await tokensOf(c), await tokensOf(a)], [1, 2], 'and has pushed out the one before the last')
})

test('a tape that went and is asked for by two endpoints is held once', async (t) => {
  const shelf = new TapeShelf(BYTES)
  const [a, b] = tapes('a', 'b') as [string, string]
  const [first, second] = [endpointFor(shelf, a), endpointFor(shelf, a)]
  const before = await deckOf(first)
  t.equal(await deckOf(second), before)
  await deckOf(endpointFor(shelf, b))
  const [one, other] = await Promise.all([deckOf(second), deckOf(first)])
  t.not(one, before)
  t.equal(one, other)
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

test('of a tape that went a call under way keeps its stream, and nobody keeps the rest', async (t) => {
  const shelf = new TapeShelf(BYTES)
  const [a, b] = tapes('a', 'b') as [string, string]
  const endpoint = endpointFor(shelf, a)
  const { pace, held } = await deckOf(endpoint).then((deck) => ({
    pace: draw(deck),
    held: new WeakRef(deck),
  }))
  collect()
  t.ok(held.deref(), 'the shelf has it')
  await deckOf(endpointFor(shelf, b))
  await eventually(() => {
    collect()
    return held.deref() === undefined
  })
  t.equal(pace.tokens, 1)
  t.equal(await tokensOf(endpoint), 1)
})

test('a mix whose tapes fit together is kept whole, whatever was there before', async (t) => {
  const shelf = new TapeShelf(3 * BYTES)
  const [a, b, c, d, e] = tapes('a', 'b', 'c', 'd', 'e') as [string, string, string, string, string]
  for (const file of [a, d, e]) await deckOf(endpointFor(shelf, file))
  const mix = endpointFor(shelf, a, b, c, a)
  const deck = await deckOf(mix)
  t.equal(await deckOf(mix), deck)
  for (const file of [a, b, c, d]) writeFileSync(file, AFTER)
  const read = await Promise.all([a, b, c].map((file) => tokensOf(endpointFor(shelf, file))))
  t.same(read, [1, 1, 1])
  t.equal(await tokensOf(endpointFor(shelf, d)), 2, 'the others went')
  t.not(await deckOf(mix), deck, 'a mix goes with any of its tapes')
})

test('a mix whose tapes do not fit together is refused by their names, and read once', async (t) => {
  const shelf = new TapeShelf(2 * BYTES)
  const files = tapes('a', 'b', 'c')
  const mix = endpointFor(shelf, ...files)
  const message = `the tapes ${files.join(', ')}: they have more than ${2 * BYTES} bytes together`
  await t.rejects(deckOf(mix), { message })
  t.type(mix.deck(), 'function', 'what is wrong is known at once')
  await t.rejects(deckOf(mix), { message })
  t.equal(await tokensOf(endpointFor(shelf, files[0]!)), 1, 'each by itself is replayed')
})
