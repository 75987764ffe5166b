/** What a command of the command line comes to. */

interface CommandOutput {
  /** For standard output. */
  readonly text: string
  /** For standard error, so that scripts get the text alone. */
  readonly remark?: string
}

export interface CommandFailure {
  /** A sentence for standard error. */
  readonly complaint: string
  /** Exit code: 1 when it could not be done, 2 when it was no command. */
  readonly code: 1 | 2
}

export type CommandResult = CommandOutput | CommandFailure

export function usageError(complaint: string): CommandFailure {
  return { complaint, code: 2 }
}

export function commandFailure(complaint: string): CommandFailure {
  return { complaint, code: 1 }
}

/** Text of somebody else's, fit for a terminal: nothing in it moves the cursor or changes colours. */
export function sanitizeForTerminal(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')
}
