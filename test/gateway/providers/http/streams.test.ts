/** What a stream of a provider is, whatever its format: framing, flushes, its end, and a caller that leaves or waits. */
import fc from 'fast-check'
import { type Test, test } from 'tap'
import { Streamed } from '../../../support/clients/openai-calls.js'
import type { Peer, Script } from '../../../support/providers/mock-upstream.js'
import { type AnyStreamed, PROVIDER_FORMATS } from '../../../support/providers/provider-formats.js'
import { eventually } from '../../../support/timing/eventually.js'

const TEXTS = ['é', '😀', '€']

for (const format of PROVIDER_FORMATS) {
  const { head, pieces, tail } = format.frames(TEXTS)
  const frames = [...head, ...pieces, ...tail]
  const whole = frames.join('')
  const unterminated = frames.slice(0, -1).join('')

  const saying =
    (text: string, end = (peer: Peer) => peer.endChunks()): Script =>
    (peer) => {
      peer.streamHead({ 'content-type': 'Text/Event-Stream; charset=utf-8' })
      peer.chunk(text)
      end(peer)
    }
  const waiting = (...said: readonly string[]): Script => saying(said.join(''), () => {})
  const begun = [...head, pieces[0]!]

  /** Every frame in its order, after something that says nothing. */
  const behind = (prefix: string): string =>
    frames.map((frame) => prefix + (frame.startsWith('event:') ? '' : 'event: message\n') + frame).join('')

  const FRAMINGS: Readonly<Record<string, string>> = {
    LF: whole,
    CRLF: whole.replaceAll('\n', '\r\n'),
    CR: whole.replaceAll('\n', '\r'),
    'comments, ids and retries': behind(': PROCESSING\n\nid: 1\nretry: 5\n'),
    'a byte order mark': `\ufeff${whole}`,
    'no space after the colon': whole.replaceAll('data: ', 'data:'),
    'no names': whole.replaceAll(/event: .*\n/g, ''),
    'events over several lines': whole.replaceAll('data: {', 'data: {\ndata: '),
    'a terminator without its blank line': whole.trimEnd(),
    'the word of another format at the end': `${whole}data: [DONE]\n\n`,
    'something after the terminator': `${whole}data: {"CANARY"\n\n`,
    'kinds that nobody knows': whole.replace(
      pieces[0]!,
      `${pieces[0]}event: brand_new\ndata: {"type":"brand_new"}\n\n`,
    ),
  }

  /** An event without the text it was read from, which may be spaced otherwise. */
  const read = (event: object): object => ({ ...event, data: undefined })
  const checkRead = async (t: Test, one: AnyStreamed, reference: AnyStreamed): Promise<void> => {
    t.equal(await one.end.opened, 'ended')
    t.same(format.textsOf(one.events), TEXTS)
    t.same(one.told, reference.told)
    t.strictSame(one.events.map(read), reference.events.map(read))
    for (const event of one.events) if ('data' in event) t.notMatch(event.data, /[\r\n]/, 'one line each')
  }

  test(`${format.name}: however it is framed and wherever its bytes are cut, a stream reads the same`, async (t) => {
    let text = whole
    let sizes: readonly number[] = [1_000_000]
    const bench = await format.bench(t, (peer) => {
      peer.streamHead({ 'content-type': 'Text/Event-Stream; charset=utf-8' })
      const bytes = Buffer.from(text)
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = sizes[i % sizes.length]!
        peer.chunk(bytes.subarray(at, at + size))
        at += size
      }
      peer.endChunks()
    })
    const reference = bench.stream()
    await checkRead(t, reference, reference)
    for (const framing of Object.values(FRAMINGS)) {
      text = framing
      await checkRead(t, bench.stream(), reference)
    }
    const cuts = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...Object.values(FRAMINGS)), cuts, async (one, random) => {
        text = one
        sizes = random
        await checkRead(t, bench.stream(), reference)
      }),
      { numRuns: 150 },
    )
  })

  test(`${format.name}: a stream that ends with its connection needs its terminator all the same`, async (t) => {
    let text = whole
    const bench = await format.bench(t, (peer) => {
      peer.head(200, { 'content-type': 'text/event-stream', connection: 'close' })
      peer.write(text)
      peer.cut()
    })
    t.equal(await bench.stream().end.opened, 'ended')
    text = unterminated
    t.match(await bench.stream().end.opened, { fault: { kind: 'provider-failed' } })
  })

  test(`${format.name}: the first event comes before the last is made, and each turn is followed by a flush`, async (t) => {
    const bench = await format.bench(t, waiting(...begun))
    const one = bench.stream()
    await eventually(() => one.flushes === 1)
    t.same(one.told, format.begun)
    const [peer] = bench.mock.peers
    peer!.chunk(pieces[1]!)
    await eventually(() => one.flushes === 2)
    t.equal(format.textsOf(one.events).length, 2)
    for (const frame of [pieces[2]!, ...tail]) peer!.chunk(frame)
    t.equal(await one.end.opened, 'ended')
  })

  test(`${format.name}: events that come with one read are followed by one flush, each a chunk of its own or not`, async (t) => {
    const bench = await format.bench(t, waiting(...begun))
    const one = bench.stream()
    await eventually(() => one.flushes === 1)
    const chunkOf = (frame: string): string => `${Buffer.byteLength(frame).toString(16)}\r\n${frame}\r\n`
    bench.mock.peers[0]!.write(pieces.slice(1).map(chunkOf).join(''))
    await eventually(() => one.flushes === 2)
    t.same(format.textsOf(one.events), TEXTS)
    one.flow.cancel()
  })

  test(`${format.name}: the end is told with the terminator, and the connection serves again once the body has ended`, async (t) => {
    const bench = await format.bench(t, waiting(whole))
    t.equal(await bench.stream().end.opened, 'ended')
    t.equal(bench.client.inFlight(), 1, 'the body has not ended yet')
    bench.mock.peers[0]!.chunk('data: {"late":1}\n\n')
    bench.mock.peers[0]!.endChunks()
    await eventually(() => bench.client.inFlight() === 0)
    bench.mock.script = saying(whole)
    for (let i = 0; i < 3; i++) t.equal(await bench.stream().end.opened, 'ended')
    await eventually(() => bench.client.inFlight() === 0)
    t.equal(bench.mock.peers.length, 1)
  })

  test(`${format.name}: a server that holds its body open after the terminator is left`, async (t) => {
    const bench = await format.bench(t, waiting(whole))
    const one = bench.stream()
    t.equal(await one.end.opened, 'ended')
    one.flow.cancel()
    await bench.mock.peers[0]!.closed()
    await eventually(() => bench.client.sockets() === 0 && bench.client.inFlight() === 0)
    t.equal(one.told.filter((word) => word === 'ended' || word === 'failed').length, 1)
  })

  const STANDINGS: Readonly<Record<string, readonly [Script, texts: number]>> = {
    'before the head': [() => {}, 0],
    'before the first event': [(peer) => peer.streamHead(), 0],
    'before the first content': [waiting(...head), 0],
    'in the middle': [waiting(...begun), 1],
  }

  for (const [name, [script, texts]] of Object.entries(STANDINGS)) {
    test(`${format.name}: a stream cancelled ${name} closes its socket and tells nothing more`, async (t) => {
      const bench = await format.bench(t, script)
      const one = bench.stream()
      await eventually(() => bench.mock.requests.length === 1 && format.textsOf(one.events).length === texts)
      const told = [...one.told]
      one.flow.cancel()
      one.flow.cancel()
      await bench.mock.peers[0]!.closed()
      await eventually(() => bench.client.sockets() === 0 && bench.client.inFlight() === 0)
      t.same(one.told, told)
    })
  }

  test(`${format.name}: a receiver that cancels within an event hears nothing more, not even of the same bytes`, async (t) => {
    const bench = await format.bench(t, saying(whole))
    class Leaving extends Streamed<{ readonly type: string }> {
      override onEvent(event: { readonly type: string }): void {
        super.onEvent(event)
        if (format.textsOf(this.events).length === 1) this.flow.cancel()
      }
    }
    const one = bench.stream(new Leaving())
    await one.first.opened
    await bench.mock.peers[0]!.closed()
    await eventually(() => bench.client.sockets() === 0)
    t.same(one.told, format.begun)
    t.equal(one.flushes, 0)
  })

  test(`${format.name}: a call that does not stream tells nothing when it is cancelled, and leaves no socket`, async (t) => {
    const scripts: readonly Script[] = [
      () => {},
      (peer) => {
        peer.head(200, { 'content-type': 'application/json', 'content-length': '1000' })
        peer.write('{"type":"mess')
      },
    ]
    for (const script of scripts) {
      const bench = await format.bench(t, script)
      const one = bench.complete()
      await eventually(() => bench.mock.requests.length === 1)
      one.flow.cancel()
      one.flow.cancel()
      await bench.mock.peers[0]!.closed()
      await eventually(() => bench.client.sockets() === 0 && bench.client.inFlight() === 0)
      t.equal(one.ends, 0)
    }
  })

  test(`${format.name}: a slow receiver stops the provider, and loses nothing`, async (t) => {
    const EVENTS = 2_000
    const filler = 'x'.repeat(10_000)
    let written = 0
    const bench = await format.bench(t, (peer) => {
      peer.streamHead()
      peer.chunk(head.join(''))
      const more = (): void => {
        while (written < EVENTS) {
          if (!peer.chunk(format.frames([`${written++} ${filler}`]).pieces[0]!)) {
            peer.socket.once('drain', more)
            return
          }
        }
        peer.chunk(tail.join(''))
        peer.endChunks()
      }
      more()
    })
    const one = bench.stream()
    await one.first.opened
    one.flow.pause()
    let seen = -1
    await eventually(async () => {
      const stood = seen === written
      seen = written
      await new Promise((resolve) => setTimeout(resolve, 100))
      return stood && seen === written
    })
    t.ok(written < EVENTS, `the provider stands at event ${written}`)
    t.ok(format.textsOf(one.events).length < written)
    one.flow.resume()
    t.equal(await one.end.opened, 'ended')
    const numbers = format.textsOf(one.events).map((text) => Number.parseInt(text, 10))
    t.same(
      numbers,
      Array.from({ length: EVENTS }, (_, i) => i),
    )
  })
}
