import { closedLoop } from '../load.js'
import { apiRequest } from '../requests.js'
import type { Attack } from './attack.js'

const CONNECTIONS = 8

/** Calls that make the provider of the neighbour's model answer 500, which it does for nobody else. */
export const provokedFailures: Attack = {
  name: 'attack-provoked-failures',
  summary: 'one organization sends calls that the provider of a common model answers with 500',
  play: ({ port, key, seconds }) => {
    const body = { model: 'bench/json', messages: [{ role: 'user', content: 'fail' }], stop: 'answer-500' }
    return closedLoop({
      port,
      connections: CONNECTIONS,
      seconds,
      request: apiRequest('POST', '/chat/completions', body, key),
    })
  },
}
