/** Reading the command lines of the bench: numbers within bounds, and sentences for what cannot be obeyed. */
import { type ParseArgsConfig, parseArgs } from 'node:util'

/** A command line that cannot be obeyed; the message is one sentence for the person who typed it. */
export class UsageError extends Error {}

/** The values of `flags` in `args`. Throws `UsageError` for anything else in there. */
export function readFlags<const T extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  flags: T,
) {
  try {
    return parseArgs({ args: [...args], options: flags, strict: true, allowPositionals: false }).values
  } catch (error) {
    // Node's own sentence names the option; its second sentence is advice about '--' that does not apply here.
    throw new UsageError((error as Error).message.split('. ')[0])
  }
}

/** The number an option was given, or `fallback` when it was not. Throws `UsageError` outside [min, max]. */
export function numberOption(
  name: string,
  text: string | undefined,
  fallback: number,
  min: number,
  max: number,
): number {
  if (text === undefined) return fallback
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (value >= min && value <= max) return value
  throw new UsageError(`--${name} needs a number from ${min} to ${max}, not '${text}'`)
}

/** The same for whole numbers. */
export function wholeOption(
  name: string,
  text: string | undefined,
  fallback: number,
  min: number,
  max: number,
): number {
  const value = numberOption(name, text, fallback, min, max)
  if (Number.isInteger(value)) return value
  throw new UsageError(`--${name} needs a whole number, not '${text}'`)
}

/** Names separated by commas, each one of `known`, in the order given. Throws `UsageError` naming those that are not. */
export function namesOption(name: string, text: string, known: readonly string[]): string[] {
  const wanted = text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
  const unknown = wanted.filter((one) => !known.includes(one))
  if (unknown.length > 0 || wanted.length === 0) {
    throw new UsageError(
      `--${name}: unknown ${unknown.join(', ') || '(none given)'}; known are ${known.join(', ')}`,
    )
  }
  return wanted
}
