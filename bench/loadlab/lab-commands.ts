/** The words of `npm run bench -- <word>` that belong to the lab. */

interface LabCommand {
  readonly summary: string
  /** Resolves to the exit code. Throws `UsageError` for a bad command line. */
  readonly run: (args: readonly string[]) => Promise<number>
}

/** Loaded when asked for: none of them needs what the others load. */
export const LAB_COMMANDS: Readonly<Record<string, LabCommand>> = {
  compare: {
    summary: 'which load tool can be believed, and why',
    run: async (args) => (await import('./runner/compare.js')).compareCommand(args),
  },
  tools: {
    summary: 'the load tools that the comparison knows, and which are installed',
    run: async (args) => (await import('./tools/catalogue.js')).toolsCommand(args),
  },
  drive: {
    summary: 'load one address with the open-loop HTTP driver',
    run: async (args) => (await import('./drivers/drive-command.js')).driveCommand(args),
  },
  'drive-stream': {
    summary: 'open event streams and time their tokens',
    run: async (args) => (await import('./drivers/drive-stream-command.js')).driveStreamCommand(args),
  },
  profiles: {
    summary: 'the load profiles of both services',
    run: async (args) => (await import('./profiles/profile-command.js')).profilesCommand(args),
  },
  profile: {
    summary: 'run one of them',
    run: async (args) => (await import('./profiles/profile-command.js')).profileCommand(args),
  },
}

/** Lines for the help text. */
export function labCommandHelp(): string {
  return Object.entries(LAB_COMMANDS)
    .map(([name, { summary: says }]) => `  ${name.padEnd(14)} ${says}\n`)
    .join('')
}
