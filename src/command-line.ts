/** The command line. Exit codes: 0 after a drain, 1 on a failure at run time, 2 on a bad setting or command. */
import { readFileSync } from 'node:fs'
import { INTERFACE_VERSION, VERSION } from './base/version.js'
import { failCommand, parseCommandArgs, runCommand, sanitizeForTerminal } from './cli/command.js'
import { writeFully } from './cli/write-fully.js'
import type { Config, InvalidConfigError } from './config/config.js'
import { keepNewFilesPrivate } from './process/store-privacy.js'
import type { Supervisor } from './process/supervisor.js'

/** Rejects with `InvalidConfigError`, also for a permission of an operation that does not exist: it would lock nothing. */
async function loadCheckedConfig(): Promise<Config> {
  const { loadConfig } = await import('./compose/configuration.js')
  const config = await withLabFlag(await loadConfig(process.env))
  const faults = await permissionFaults(Object.keys(config.gateway.permissions))
  if (faults.length === 0) return config
  const { InvalidConfigError } = await import('./config/config.js')
  throw new InvalidConfigError(faults)
}

async function permissionFaults(named: readonly string[]): Promise<InvalidConfigError['faults']> {
  // Building every operation for its name is work that most starts need not do.
  if (named.length === 0) return []
  const { lockableOperations } = await import('./app.js')
  const known = lockableOperations()
  return named
    .filter((name) => !known.has(name))
    .map((name) => ({
      source: `permissions.${name}`,
      problem: 'there is no such operation, or its callers are fixed',
    }))
}

const LAB_FLAG = '--lab'

/** `--lab` is the shortest way to a lab: the usual address unless another one is set, and faults. */
async function withLabFlag(config: Config): Promise<Config> {
  if (!process.argv.slice(2).includes(LAB_FLAG)) return config
  const { LAB_ADDRESS } = await import('./config/values.js')
  const isOff = config.lab === 'off'
  const sources = { ...config.sources, labFaults: 'flag' as const, ...(isOff && { lab: 'flag' as const }) }
  return Object.freeze({ ...config, sources, lab: isOff ? LAB_ADDRESS : config.lab, labFaults: true })
}

const configOrExit = (): Promise<Config> => loadCheckedConfig().catch(exitForInvalid)

/** Names each fault of the configuration and ends the process; throws what is something else. */
function exitForInvalid(error: unknown): never {
  if (!isInvalidConfig(error)) throw error
  for (const { source, problem } of error.faults) writeFully(2, `bad setting: ${source}: ${problem}\n`)
  process.exit(2)
}

const isInvalidConfig = (error: unknown): error is InvalidConfigError =>
  error instanceof Error && error.name === 'InvalidConfigError'

async function serve(): Promise<undefined> {
  let supervisor: Supervisor | null = null
  let reloadsFirst = false
  // Before anything else: without a handler the signal ends the process.
  process.on('SIGHUP', () => {
    if (supervisor === null) reloadsFirst = true
    else supervisor.reload()
  })
  // A worker is needed in any case: it comes up while this process loads what it is made of, and reads its settings.
  const { ForkedWorker } = await import('./process/forked-worker.js')
  const worker = new ForkedWorker()
  const [{ Supervisor }, { createLog }] = await Promise.all([
    import('./process/supervisor.js'),
    import('./base/log.js'),
  ])
  const config = await loadCheckedConfig().catch((error: unknown) => {
    worker.kill()
    return exitForInvalid(error)
  })
  const log = createLog(config.logLevel, 'supervisor')
  const started = (supervisor = new Supervisor(config, {
    log,
    announce: (line) => writeFully(1, `${line}\n`),
    complain: (sentence) => writeFully(2, `sluice: ${sentence}\n`),
    reread: loadCheckedConfig,
    exit: (code) => process.exit(code),
  }))
  if (reloadsFirst) started.reload()
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => started.signal(name))
  try {
    await started.start(worker)
  } catch (error) {
    if (isInvalidConfig(error)) exitForInvalid(error)
    writeFully(2, `sluice: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(isRefusedStart(error) ? 2 : 1)
  }
}

const isRefusedStart = (error: unknown): boolean => error instanceof Error && error.name === 'RefusedStart'

/** Reading a damaged database ends a process without a word, so another process reads it first. */
async function configOfSoundStore(): Promise<Config> {
  const config = await configOrExit()
  const [{ checkStore }, { createLog }] = await Promise.all([
    import('./process/store-check.js'),
    import('./base/log.js'),
  ])
  await checkStore(config.dataDir, false, createLog('silent', 'command')).catch((error: Error) =>
    failCommand(error.message),
  )
  return config
}

async function transferPorts() {
  const [{ checkStore }, { lockFolder }, { createLog }] = await Promise.all([
    import('./process/store-check.js'),
    import('./process/folder-lock.js'),
    import('./base/log.js'),
  ])
  return {
    print: writeFully,
    settings: configOrExit,
    lockFolder,
    checkStore: (folder: string) => checkStore(folder, false, createLog('silent', 'command')),
  }
}

const PORTS = { print: writeFully, readInput: () => readFileSync(0, 'utf8') }

interface Command {
  /** For the list of commands. */
  readonly about: string
  /** With what follows the command's name; it may resolve with an exit code. */
  readonly run: (args: readonly string[]) => Promise<number>
}

/** A command that takes no words, and `--lab` at most. */
function plainCommand(
  name: string,
  about: string,
  run: () => Promise<string | undefined>,
  flags: readonly 'lab'[] = [],
): Command {
  const options = Object.fromEntries(flags.map((flag) => [flag, { type: 'boolean' as const }]))
  const usage = `usage: sluice ${name}${flags.length > 0 ? ` [${LAB_FLAG}]` : ''}\n\n${about}\n`
  const runChecked = (args: readonly string[]) =>
    runCommand({ args, usage, print: writeFully }, async () => {
      parseCommandArgs(name, args, options, false)
      return { text: (await run()) ?? '' }
    })
  return { about, run: runChecked }
}

const asJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** What only one command needs is loaded by that command: half of the modules are enough for most. */
const COMMANDS: Readonly<Record<string, Command>> = {
  serve: plainCommand(
    'serve',
    'run the server (the default); with --lab the lab as well, faults included',
    serve,
    ['lab'],
  ),
  init: {
    about: 'ask for a provider and write a configuration that calls it',
    run: async (args) => {
      const { initCommand } = await import('./cli/init.js')
      const { openTerminal } = await import('./cli/init/terminal.js')
      return initCommand(args, process.env, { print: writeFully, openTerminal })
    },
  },
  'check-config': plainCommand(
    'check-config',
    'read all settings, name every fault, run nothing',
    async () => {
      await configOrExit()
      return 'all settings are good\n'
    },
    ['lab'],
  ),
  doctor: {
    about: 'look at the machine, the settings and whom they name, and say what to do',
    run: async (args) => {
      const { doctorCommand } = await import('./cli/doctor.js')
      const code = await doctorCommand(args, loadCheckedConfig, writeFully)
      // What did not answer in time may still be under way, and would keep the process.
      process.exit(code)
    },
  },
  upgrade: {
    about: 'tell what this release would do to the data folder and database of another one',
    run: async (args) => {
      const { upgradeCommand } = await import('./cli/upgrade.js')
      return upgradeCommand(args, configOrExit, writeFully)
    },
  },
  health: {
    about: 'ask the server of this machine whether it is healthy, for checks in containers',
    run: async (args) => {
      const { healthCommand } = await import('./cli/health.js')
      return healthCommand(args, configOrExit, writeFully)
    },
  },
  'config-schema': plainCommand(
    'config-schema',
    'print the JSON Schema of the configuration file',
    async () => {
      const { configSchema } = await import('./compose/configuration.js')
      return asJson(configSchema())
    },
  ),
  keys: {
    about: 'list, create, disable, enable and delete API keys, also while the server runs',
    run: async (args) => {
      const { keysCommand } = await import('./cli/keys.js')
      return keysCommand(args, configOfSoundStore, writeFully)
    },
  },
  federation: {
    about: 'issuers, policies, signing keys, audit and policy tester of workload identity federation',
    run: async (args) => {
      const { federationCommand } = await import('./cli/federation.js')
      return federationCommand(args, configOfSoundStore, PORTS)
    },
  },
  explain: {
    about: 'tell where a request would go and why, without calling anyone',
    run: async (args) => {
      const { explainCommand } = await import('./cli/explain.js')
      return explainCommand(args, configOrExit, PORTS)
    },
  },
  whatif: {
    about: 'tell what calls of the ledger would have come to under another configuration',
    run: async (args) => {
      const { whatIfCommand } = await import('./cli/whatif.js')
      return whatIfCommand(args, configOrExit, writeFully)
    },
  },
  drill: {
    about: 'let a provider fail in every way and tell what the gateway makes of it',
    run: async (args) => {
      const { drillCommand } = await import('./cli/drill.js')
      return drillCommand(args, { print: writeFully, apiKey: async () => (await configOrExit()).apiKey })
    },
  },
  demo: {
    about: 'run a server in which everything happens that the console shows, and leave nothing behind',
    run: async (args) => {
      const { demoCommand } = await import('./cli/demo.js')
      return demoCommand(args, writeFully)
    },
  },
  record: {
    about: 'keep how the streams of a provider come: a pace tape, without a word of them',
    run: async (args) => {
      const { recordCommand } = await import('./cli/record.js')
      return recordCommand(args, writeFully)
    },
  },
  tape: {
    about: 'compare two pace tapes; turn tapes and public traces into arrivals',
    run: async (args) => {
      const { tapeCommand } = await import('./cli/tape.js')
      return tapeCommand(args, writeFully)
    },
  },
  migrate: {
    about: 'bring the schema of the PostgreSQL that machines share to this release',
    run: async (args) => {
      const { migrateCommand } = await import('./cli/migrate.js')
      return migrateCommand(args, configOrExit, writeFully)
    },
  },
  fleet: {
    about: 'the machines that share a PostgreSQL: what they hold, and what happens when one fails',
    run: async (args) => {
      const { fleetCommand } = await import('./cli/fleet.js')
      const { openTerminal } = await import('./cli/init/terminal.js')
      return fleetCommand(args, { print: writeFully, settings: configOrExit, openTerminal })
    },
  },
  import: {
    about: 'move the store of a folder into the PostgreSQL that machines share',
    run: async (args) => {
      const { importCommand } = await import('./cli/transfer.js')
      return importCommand(args, await transferPorts())
    },
  },
  export: {
    about: 'move what that PostgreSQL holds into a new folder',
    run: async (args) => {
      const { exportCommand } = await import('./cli/transfer.js')
      return exportCommand(args, await transferPorts())
    },
  },
  openapi: plainCommand('openapi', 'print the OpenAPI 3.1 document', async () => {
    const { practice } = await configOrExit()
    const { serviceDocument } = await import('./app.js')
    return asJson(serviceDocument(practice))
  }),
  version: plainCommand(
    'version',
    'print the version of the product, and of the interface that the document describes',
    async () => `sluice ${VERSION} (interface ${INTERFACE_VERSION})\n`,
  ),
  help: {
    about: 'print this, or with the name of a command what that one does',
    run: async ([asked = '']) => {
      if (asked !== 'help' && Object.hasOwn(COMMANDS, asked)) return COMMANDS[asked]!.run(['--help'])
      writeFully(1, USAGE)
      return 0
    },
  },
}

const USAGE = `usage: sluice <command>

${Object.entries(COMMANDS)
  .map(([name, { about }]) => `  ${name.padEnd(14)}${about}\n`)
  .join('')}
Each command has a --help of its own. In a clone of the repository: npx sluice <command>.
Settings come from the environment and from the file SLUICE_CONFIG names; docs/guide/settings.md lists them.
SIGHUP makes a running server read the file again.
`

// Otherwise Node opens a port for a debugger, through which every key could be read.
process.on('SIGUSR1', () => {})
// Before any command: all of them may be the first to create a file of the store.
keepNewFilesPrivate()

const ALIASES: Readonly<Record<string, string>> = {
  '-h': 'help',
  '--help': 'help',
  '-v': 'version',
  '--version': 'version',
}

const words = process.argv.slice(2)
const [asked = 'serve'] = words.filter((word) => word !== LAB_FLAG)
const name = Object.hasOwn(ALIASES, asked) ? ALIASES[asked]! : asked
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
if (command === undefined) {
  writeFully(2, `sluice: there is no command "${sanitizeForTerminal(name)}"\n\n${USAGE}`)
  process.exitCode = 2
} else {
  const at = words.indexOf(asked)
  process.exitCode = await command.run(words.filter((_, index) => index !== at))
}
