/** The head of an answer, as the native side is given it: status line and headers in one text. */
import type { HttpResponse } from 'uWebSockets.js'
import { test } from 'tap'
import { writeHead } from '../../src/transport/answer-sending.js'
import type { HeaderList } from '../../src/transport/exchange.js'

function headOf(status: number, headers: HeaderList): string {
  let head = ''
  const res = {
    writeStatus: (text: string | Uint8Array) => {
      head += Buffer.from(text as string).toString()
    },
  }
  writeHead(res as unknown as HttpResponse, { status, headers, body: null })
  return head
}

test('a list of headers that answers share is a head of its own for each status', async (t) => {
  const shared: HeaderList = Object.freeze([['A', 'ä'] as const, ['B', ''] as const])
  for (const round of ['first', 'again']) {
    t.equal(headOf(200, shared), '200 OK\r\nA: ä\r\nB: ', round)
    t.equal(headOf(404, shared), '404 Not Found\r\nA: ä\r\nB: ', round)
    t.equal(headOf(529, shared), '529 Site is overloaded\r\nA: ä\r\nB: ', round)
    t.equal(headOf(599, Object.freeze([])), '599 Unknown', round)
  }
})

test('a list that may change is read each time', async (t) => {
  const own: [string, string][] = [['A', '1']]
  t.equal(headOf(200, own), '200 OK\r\nA: 1')
  own[0]![1] = '2'
  own.push(['B', '3'])
  t.equal(headOf(200, own), '200 OK\r\nA: 2\r\nB: 3')
})

test('a value of several lines is no header, of a shared list as little as of another', async (t) => {
  for (const value of ['a\r\nB: c', 'a\nB: c', 'a\rB: c', '\r\n\r\nbody'])
    for (const headers of [[['A', value]], Object.freeze([['A', value]])] as HeaderList[])
      t.throws(() => headOf(200, headers), TypeError)
})
