import { closedLoop } from '../load.js'
import { hashRequest } from '../requests.js'
import type { Attack } from './attack.js'

const CONNECTIONS = 48

/** Anybody may hash: no credential, the dearest hash there is, as many at a time as one likes. */
export const hashFlood: Attack = {
  name: 'attack-hash-flood',
  summary: '48 connections without a key hash 200,000 rounds each',
  play: ({ port, seconds }) =>
    closedLoop({ port, connections: CONNECTIONS, seconds, request: hashRequest('flood', 200_000) }),
}
