/** The terminal that the program was started from. */
import { createInterface } from 'node:readline/promises'
import type { Terminal } from '../init.js'

/** Null when nobody is there to be asked. Questions go to standard error, so that scripts get the answer alone. */
export function openTerminal(): Terminal | null {
  const { stdin: input, stderr: output } = process
  if (!input.isTTY || !output.isTTY) return null
  const lines = createInterface({ input, output })
  const left = new Promise<null>((resolve) => lines.once('close', () => resolve(null)))
  return {
    ask: async (question) => {
      const answer = await Promise.race([lines.question(`${question} `).catch(() => null), left])
      return answer?.trim() ?? null
    },
    close: () => lines.close(),
  }
}
