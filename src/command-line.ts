/** The command line. Exit codes: 0 after a drain, 1 on a failure at run time, 2 on a bad setting or command. */
import { readFileSync, writeSync } from 'node:fs'
import { lockableOperations, serviceDocument } from './app.js'
import { createLog } from './base/log.js'
import { configSchema, loadConfig } from './compose/configuration.js'
import { type Config, InvalidConfigError } from './config/config.js'
import { keepNewFilesPrivate } from './process/store-privacy.js'
import type { Supervisor } from './process/supervisor.js'

const USAGE = `usage: sluice <command>

  serve         run the server (the default); with --lab the lab as well, faults included
  check-config  read all settings, name every fault, run nothing
  config-schema print the JSON Schema of the configuration file
  keys          list, create, disable, enable and delete API keys, also while the server runs
  federation    issuers, policies, signing keys, audit and policy tester of workload identity federation
  explain       tell where a request would go and why, without calling anyone
  drill         let a provider fail in every way and tell what the gateway makes of it
  openapi       print the OpenAPI 3.1 document
  help          print this

Settings come from the environment and from the file SLUICE_CONFIG names; docs/guide/settings.md lists them.
SIGHUP makes a running server read the file again.
`

/**
 * Written at once and whole, so that an exit right after loses nothing: a pipe takes a long text in pieces. A reader who
 * has gone wants no more; that is no failure of ours.
 */
function writeFully(fd: 1 | 2, text: string): void {
  let rest = Buffer.from(text)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EPIPE') return
      // The reader of the pipe is slower than we are.
      if (code !== 'EAGAIN') throw error
    }
  }
}

const NONE: ReadonlySet<string> = new Set()

/** Throws `InvalidConfigError`, also for a permission of an operation that does not exist: it would lock nothing. */
function loadCheckedConfig(): Config {
  const config = withLabFlag(loadConfig(process.env))
  const named = Object.keys(config.gateway.permissions)
  // Building every operation for its name is work that most starts need not do.
  const known = named.length === 0 ? NONE : lockableOperations()
  const faults = named
    .filter((name) => !known.has(name))
    .map((name) => ({ source: `permissions.${name}`, problem: 'there is no such operation' }))
  if (faults.length > 0) throw new InvalidConfigError(faults)
  return config
}

/** `--lab` is the shortest way to a lab: the usual address unless another one is set, and faults. */
function withLabFlag(config: Config): Config {
  if (!process.argv.slice(2).includes('--lab')) return config
  return Object.freeze({ ...config, lab: config.lab === 'off' ? 'on' : config.lab, labFaults: true })
}

function configOrExit(): Config {
  try {
    return loadCheckedConfig()
  } catch (error) {
    return exitForInvalid(error)
  }
}

/** Names each fault of the configuration and ends the process; throws what is something else. */
function exitForInvalid(error: unknown): never {
  if (!(error instanceof InvalidConfigError)) throw error
  for (const { source, problem } of error.faults) writeFully(2, `bad setting: ${source}: ${problem}\n`)
  process.exit(2)
}

async function serve(): Promise<void> {
  let supervisor: Supervisor | null = null
  // Before anything else: without a handler the signal ends the process. What comes too early is read anyway.
  process.on('SIGHUP', () => supervisor?.reload())
  const { Supervisor } = await import('./process/supervisor.js')
  const config = configOrExit()
  const log = createLog(config.logLevel, 'supervisor')
  const started = (supervisor = new Supervisor(config, {
    log,
    announce: (line) => writeFully(1, `${line}\n`),
    complain: (sentence) => writeFully(2, `sluice: ${sentence}\n`),
    reread: loadCheckedConfig,
    exit: (code) => process.exit(code),
  }))
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => started.signal(name))
  try {
    await started.start()
  } catch (error) {
    if (error instanceof InvalidConfigError) exitForInvalid(error)
    writeFully(2, `sluice: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  }
}

function checkConfig(): void {
  configOrExit()
  writeFully(1, 'all settings are good\n')
}

const PORTS = { print: writeFully, readInput: () => readFileSync(0, 'utf8') }

/** What only one command needs is loaded by that command: half of the modules are enough for most. */
const COMMANDS: Readonly<Record<string, () => void | Promise<void>>> = {
  serve,
  'check-config': checkConfig,
  'config-schema': () => writeFully(1, `${JSON.stringify(configSchema(), null, 2)}\n`),
  keys: async () => {
    const { keysCommand } = await import('./cli/keys.js')
    process.exitCode = await keysCommand(process.argv.slice(3), configOrExit(), writeFully)
  },
  federation: async () => {
    const { federationCommand } = await import('./cli/federation.js')
    process.exitCode = await federationCommand(process.argv.slice(3), configOrExit(), PORTS)
  },
  explain: async () => {
    const { explainCommand } = await import('./cli/explain.js')
    process.exitCode = await explainCommand(process.argv.slice(3), configOrExit(), PORTS)
  },
  drill: async () => {
    const { drillCommand } = await import('./cli/drill.js')
    process.exitCode = await drillCommand(process.argv.slice(3), {
      print: writeFully,
      apiKey: () => configOrExit().apiKey,
    })
  },
  openapi: () => {
    const { practice } = configOrExit()
    writeFully(1, `${JSON.stringify(serviceDocument(practice), null, 2)}\n`)
  },
  help: () => writeFully(1, USAGE),
}

// Otherwise Node opens a port for a debugger, through which every key could be read.
process.on('SIGUSR1', () => {})
// Before any command: all of them may be the first to create a file of the store.
keepNewFilesPrivate()

const ALIASES: Readonly<Record<string, string>> = { '-h': 'help', '--help': 'help' }

const [asked = 'serve'] = process.argv.slice(2).filter((word) => word !== '--lab')
const name = Object.hasOwn(ALIASES, asked) ? ALIASES[asked]! : asked
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
if (command === undefined) {
  writeFully(2, `sluice: there is no command "${name}"\n\n${USAGE}`)
  process.exitCode = 2
} else {
  await command()
}
