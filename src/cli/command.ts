/** What the commands of the command line share: results and failures, options, text for a terminal. */
import { type ParseArgsConfig, parseArgs } from 'node:util'

/** Writes to standard output (1) or standard error (2). */
export type PrintOutput = (fd: 1 | 2, text: string) => void

export interface CommandPorts {
  readonly print: PrintOutput
  /** All of standard input. */
  readonly readInput: () => string
}

export interface CommandOutput {
  /** For standard output. */
  readonly text: string
  /** For standard error, so that scripts get the text alone. */
  readonly remark?: string
  /** Exit code; 0 when absent. */
  readonly code?: number
}

/** Ends a command with a sentence for standard error. */
export class CommandFailure extends Error {
  /** @param code exit code: 1 when it could not be done, 2 when it was no command */
  constructor(
    sentence: string,
    readonly code: 1 | 2,
  ) {
    super(sentence)
  }
}

export function failCommand(sentence: string): never {
  throw new CommandFailure(sentence, 1)
}

export function failUsage(sentence: string): never {
  throw new CommandFailure(sentence, 2)
}

/** Whether a command was asked what it does, by a word of its own or by an option anywhere. */
function asksForHelp(args: readonly string[]): boolean {
  return args[0] === 'help' || args.includes('--help') || args.includes('-h')
}

interface CommandCall {
  /** What follows the command on the command line. */
  readonly args: readonly string[]
  readonly usage: string
  readonly print: PrintOutput
}

/**
 * Runs a command and prints what comes of it, or prints its usage when that is what was asked for; resolves with the
 * exit code.
 */
export async function runCommand(
  { args, usage, print }: CommandCall,
  run: () => CommandOutput | Promise<CommandOutput>,
): Promise<number> {
  if (asksForHelp(args)) {
    print(1, usage)
    return 0
  }
  try {
    const { text, remark, code = 0 } = await run()
    print(1, text)
    if (remark !== undefined) print(2, remark)
    return code
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    print(2, `sluice: ${error.message}\n${error.code === 2 ? `\n${usage}` : ''}`)
    return error.code
  }
}

/** The options and operands of a command; ends it when there are others than it takes, and names those. */
export function parseCommandArgs<const T extends NonNullable<ParseArgsConfig['options']>>(
  command: string,
  args: readonly string[],
  options: T,
  allowPositionals = true,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals })
  } catch (error) {
    const { message } = error as Error
    const [unknown] = /^Unknown option '[^']*'/.exec(message) ?? []
    const known = Object.keys(options).map((name) => `--${name}`)
    const taken = known.length === 0 ? 'no options' : known.join(', ')
    return failUsage(
      sanitizeForTerminal(unknown === undefined ? message : `${unknown}: ${command} takes ${taken}`),
    )
  }
}

/** Text from elsewhere, fit for a terminal: nothing in it moves the cursor or changes colours. */
export function sanitizeForTerminal(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')
}

/**
 * Rows of a table for a terminal, the first of them its head; every column as wide as its widest cell. Null is
 * written as a dash.
 */
export function formatTable(rows: readonly (readonly (string | null)[])[]): string {
  const cells = rows.map((row) => row.map((cell) => sanitizeForTerminal(cell ?? '-')))
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)))
  return cells
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}
