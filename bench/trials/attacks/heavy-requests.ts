import { closedLoop } from '../load.js'
import { apiRequest } from '../requests.js'
import type { Attack, AttackTarget } from './attack.js'

/** As near as whole members come to the limit of a body. */
const BODY_BYTES = 19_000_000
const MEMBERS = 900_000
const HELD_STREAMS = 24
const CONNECTIONS = 2

function chatRequest(key: string, more: string, model = 'sim/instant', content = 'x'): Buffer {
  const body = `{"model":"${model}","messages":[{"role":"user","content":"${content}"}]${more}}`
  return apiRequest('POST', '/chat/completions', body, key)
}

function inTurn({ port, seconds }: AttackTarget, connections: number, requests: readonly Buffer[]) {
  let turn = 0
  const request = (): Buffer => requests[turn++ % requests.length]!
  return closedLoop({ port, connections, seconds, request })
}

const list = (item: string): string => `[${item.repeat(Math.floor(BODY_BYTES / item.length))}1]`

/** JSON that is nothing but structure: parsing made an object of every two bytes. */
export const denseJson: Attack = {
  name: 'attack-dense-json',
  summary:
    'one organization sends bodies of 19 MB that are brackets or empty objects, and holds streams with them',
  play: (target) => {
    const { key } = target
    const open = '['.repeat(BODY_BYTES)
    return inTurn(target, HELD_STREAMS, [
      chatRequest(key, `,"stream":true,"provider":{"options":${list('{},')}}`, 'bench/paced-64'),
      chatRequest(key, `,"trace":{"a":${open}`),
      chatRequest(key, `,"x":${list('[],')}`),
      chatRequest(key, `,"stream":true,"provider":{"options":[${'{},'.repeat(19_000)}1]}`, 'bench/paced-64'),
    ])
  },
}

/** Objects with very many members, which took seconds to walk. */
export const manyMembers: Attack = {
  name: 'attack-many-members',
  summary:
    'one organization sends objects of 900,000 members: trace, provider, metadata, and names nobody knows',
  play: (target) => {
    const members = Array.from({ length: MEMBERS }, (_, at) => `"n${at}":1`).join(',')
    const bodies = ['trace', 'provider', 'metadata'].map((name) => `,"${name}":{${members}}`)
    return inTurn(
      target,
      CONNECTIONS,
      [...bodies, `,${members}`].map((more) => chatRequest(target.key, more)),
    )
  },
}

/** A long text that the simulated model is asked to say back, and asked to say one word of. */
export const longEcho: Attack = {
  name: 'attack-long-echo',
  summary: 'one organization asks a simulated model to say 18 MB back, whole and one word of it',
  play: (target) => {
    const words = `echo: ${'ab '.repeat(6_000_000)}`
    return inTurn(target, CONNECTIONS, [
      chatRequest(target.key, '', 'sim/instant', words),
      chatRequest(target.key, ',"max_tokens":1', 'sim/instant', words),
    ])
  },
}
