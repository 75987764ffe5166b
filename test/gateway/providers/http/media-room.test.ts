import { test } from 'tap'
import { Fault } from '../../../../src/base/fault.js'
import type { FetchFile } from '../../../../src/base/file-fetch.js'
import { MediaRoom } from '../../../../src/gateway/providers/http/media-room.js'
import { deferCall } from '../../../../src/gateway/providers/port/deferred-call.js'
import type { ProviderFailure } from '../../../../src/gateway/providers/port/provider.js'
import { completed, completion, openAiBench, providerCall } from '../../../support/clients/openai-calls.js'
import { gate } from '../../../support/timing/gate.js'

test('an organization gets a quarter of the room, all of them the whole, and what is given back is there again', async (t) => {
  const room = new MediaRoom(80)
  const first = room.begin('a')
  t.ok(first.take(15))
  t.notOk(room.begin('a').take(6), 'more than a quarter')
  t.ok(room.begin('a').take(5))
  const others = ['b', 'c', 'd'].map((organization) => room.begin(organization))
  for (const one of others) t.ok(one.take(20))
  t.notOk(room.begin('e').take(1), 'there is no room left')
  first.release()
  t.notOk(first.take(1), 'a call that is over takes nothing')
  first.release()
  t.ok(room.begin('e').take(15))
  t.notOk(room.begin('f').take(1))
})

const call = () =>
  providerCall({
    messages: [
      { role: 'user', content: [{ type: 'file', file: { file_data: 'https://example.com/a.pdf' } }] },
    ],
  })
const FILE = Buffer.from('%PDF-1.4')
const fetchFile: FetchFile = async ({ sink }) => {
  await sink.write(FILE)
  return { ok: true, contentType: 'application/pdf', size: FILE.length, url: '' }
}

test('a call holds its files until it is over, however it ends', async (t) => {
  const room = new MediaRoom(4 * FILE.length)
  const media = { fetchFile, kinds: new Set(['file'] as const), maxBytes: 100, room }
  const { mock, provider } = await openAiBench(
    t,
    (peer) => peer.json({ choices: [{ message: { content: 'x' }, finish_reason: 'stop' }] }),
    { media },
  )
  await completion(provider, call())
  await completion(provider, call())
  mock.script = (peer) => peer.json({}, 500)
  t.match(await completed(provider, call()).end.opened, { status: 500 })

  mock.script = () => {}
  const waiting = completed(provider, call())
  const refused = (await completed(provider, call()).end.opened) as { readonly fault: Fault }
  t.ok(refused.fault instanceof Fault)
  t.match(refused, { fault: { kind: 'unavailable', note: /too many files/ }, class: 'not-sent' })
  waiting.flow.cancel()
  mock.script = (peer) => peer.json({ choices: [{ message: { content: 'x' }, finish_reason: 'stop' }] })
  await completion(provider, call())
  t.equal(room.begin('anybody').take(FILE.length), true)
})

test('the first file that cannot be had ends the fetches of the others', async (t) => {
  const ended: string[] = []
  const slow: FetchFile = async ({ url, caller }) => {
    if (url.endsWith('gone')) return { ok: false, reason: 'it is gone', isBusy: false }
    return new Promise((resolve) => {
      caller.onAbort(() => {
        ended.push(url)
        resolve({ ok: false, reason: 'nobody waits', isBusy: false })
      })
    })
  }
  const media = { fetchFile: slow, kinds: new Set(['file'] as const), maxBytes: 100, room: new MediaRoom() }
  const { provider } = await openAiBench(t, () => {}, { media })
  const file = (file_data: string) => ({ type: 'file', file: { file_data } }) as const
  const content = [file('https://example.com/slow'), file('https://example.com/gone')]
  const end = await completed(provider, providerCall({ messages: [{ role: 'user', content }] })).end.opened
  t.match(end, {
    fault: { kind: 'bad-request', note: 'messages.0.content.1 cannot be used: it is gone' },
    class: 'not-sent',
  })
  t.same(ended, ['https://example.com/slow'])
})

test('how long the fetch took is told apart from the wait for the provider', async (t) => {
  const media = { fetchFile, kinds: new Set(['file'] as const), maxBytes: 100, room: new MediaRoom() }
  const { provider } = await openAiBench(
    t,
    (peer) => peer.json({ choices: [{ message: { content: 'x' }, finish_reason: 'stop' }] }),
    { media },
  )
  const asked = completed(provider, call())
  t.equal(asked.flow.waits?.(), null, 'nothing has been sent')
  await asked.end.opened
  t.ok((asked.flow.waits?.()?.preparedMs ?? 0) > 0)
})

test('a call that cannot be begun ends', async (t) => {
  const end = gate<ProviderFailure>()
  deferCall(
    Promise.resolve(),
    () => {
      throw new RangeError('a defect')
    },
    { onFailure: end.open },
  )
  t.match(await end.opened, { fault: { kind: 'internal' }, class: 'not-sent' })
})
