/** `sluice demo`: a server of its own in which everything happens that the console shows. */
import {
  type CommandOutput,
  failCommand,
  failUsage,
  type PrintOutput,
  parseCommandArgs,
  runCommand,
} from './command.js'
import { apiOf } from './demo/api.js'
import { startIdentityProvider } from './demo/identity-provider.js'
import { furnish } from './demo/organization.js'
import { runTraffic } from './demo/traffic.js'
import { type OwnServer, startOwnServer } from './own-server.js'
import { untilSignal } from './until-signal.js'

const USAGE = `usage: sluice demo [--port PORT]

Starts a server on 127.0.0.1 with the simulated models and a folder of its own, an identity provider beside it, and fills
an organization: workspaces, members, keys with limits, workload identity with a policy that passes and one that refuses,
files, groups and a directory connection. Then it makes about two calls a second, some of which fail, for as long as it
runs. Prints where the console is and the key to sign in with. Ctrl-C ends it and leaves nothing.

  --port PORT  where the server listens (8080 when absent; 0 takes a free port)
`

const DEFAULT_PORT = '8080'

/** @returns the exit code: 0 when it was told to end, 1 when it could not be done, 2 when it was no command */
export function demoCommand(args: readonly string[], print: PrintOutput): Promise<number> {
  return runCommand({ args, usage: USAGE, print }, async () => {
    const { values } = parseCommandArgs('demo', args, { port: { type: 'string' } }, false)
    const port = values.port ?? DEFAULT_PORT
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) failUsage('--port must be a port from 0 to 65535')
    await untilSignal((left) => demonstrate(port, left, print))
    return { text: '' }
  })
}

async function demonstrate(port: string, left: AbortSignal, print: PrintOutput): Promise<CommandOutput> {
  const provider = await startIdentityProvider()
  try {
    const env = { PORT: port, SLUICE_WORKERS: '2', SLUICE_ALLOW_LOOPBACK_ISSUERS: 'on' }
    const server = await startOwnServer({ name: 'demo', settings: {}, env, left }).catch((error: Error) =>
      failCommand(error.message),
    )
    try {
      const organization = await furnish(server, provider, left)
      print(1, welcome(server))
      const died = server.exited.then(() =>
        left.aborted ? undefined : failCommand('the server of the demo has ended'),
      )
      await Promise.race([runTraffic(apiOf(server.url, left), organization, provider, left), died])
    } finally {
      await server.stop()
    }
  } catch (error) {
    // What was under way when it was told to end has failed for that reason alone.
    if (!left.aborted) throw error
  } finally {
    await provider.close()
  }
  return { text: '' }
}

function welcome({ url, managementKey }: OwnServer): string {
  return `console         ${url}/console
sign in with    ${managementKey}
API             ${url}/api/v1

It runs until Ctrl-C, and leaves nothing.
`
}
