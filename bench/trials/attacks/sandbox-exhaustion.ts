import { closedLoop } from '../load.js'
import { apiRequest } from '../requests.js'
import type { Attack } from './attack.js'

/** More than may run at a time, so that some of them always wait. */
const CONNECTIONS = 8

/** What a command can take: processes, processors, memory, bytes, names, pieces of output, sockets. */
const COMMANDS = [
  ':() { : | : & }; : 2>/dev/null; sleep 1',
  "perl -e 'for (1..60) { fork or do { 1 while 1 } } sleep 2'",
  'for i in $(seq 1 40); do perl -e \'$x = "a" x (64 * 2**20); sleep 3\' & done; wait',
  'timeout 2 yes',
  `timeout 2 perl -e '$| = 1; while (1) { syswrite(STDOUT, "a", 1); syswrite(STDERR, "b", 1) }'`,
  'head -c 1G /dev/urandom >large; for i in $(seq 1 5000); do : >name-of-a-file-$i; done',
  `perl -MSocket -e 'for (1..30) { last unless defined fork } socketpair($a[$_], $b[$_], AF_UNIX, SOCK_STREAM, 0) for 1..60; sleep 2'`,
  'timeout 2 bash -c "while true; do /bin/true; done"',
]

function commandRequest(key: string, command: string): Buffer {
  const content = `call service:bash ${JSON.stringify({ command })}\nanswer Done.`
  const body = {
    model: 'sim/agent',
    tools: [{ type: 'service:bash' }],
    messages: [{ role: 'user', content }],
  }
  return apiRequest('POST', '/chat/completions', body, key)
}

/** The sandbox of the tool bash with its default settings; Linux with bubblewrap only. */
export const sandboxExhaustion: Attack = {
  name: 'attack-sandbox-exhaustion',
  summary: 'an organization runs bombs, floods and hoards in sandboxes, eight commands at a time',
  tools: { bash: { enabled: true } },
  mostTimes: 1.2,
  play: ({ port, key, seconds }) => {
    const requests = COMMANDS.map((command) => commandRequest(key, command))
    let turn = 0
    const request = (): Buffer => requests[turn++ % requests.length]!
    return closedLoop({ port, connections: CONNECTIONS, seconds, request })
  },
}
