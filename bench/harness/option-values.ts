/** Reading the command lines of the bench: numbers within bounds, and sentences for what cannot be obeyed. */
import { type ParseArgsConfig, parseArgs } from 'node:util'

/** A command line that cannot be obeyed; the message is one sentence for the person who typed it. */
export class UsageError extends Error {}

/** The words of a text. */
type WordsOf<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | WordsOf<Rest> : Text

/** The options a command line holds, by name. */
type OptionValues<Texts extends string, Switches extends string, Lists extends string> = {
  readonly [name in WordsOf<Texts>]?: string
} & { readonly [name in WordsOf<Switches>]?: boolean } & {
  readonly [name in WordsOf<Lists>]?: readonly string[]
}

/**
 * The options in `args`, which may hold these and nothing else: texts, switches, and texts that may be repeated, their
 * names separated by spaces. Throws `UsageError`.
 */
export function readFlags<Texts extends string, Switches extends string, Lists extends string = never>(
  args: readonly string[],
  texts: Texts,
  switches: Switches,
  lists?: Lists,
): OptionValues<Texts, Switches, Lists> {
  const options: NonNullable<ParseArgsConfig['options']> = {}
  for (const name of texts.split(' ')) options[name] = { type: 'string' }
  for (const name of switches.split(' ')) options[name] = { type: 'boolean' }
  for (const name of lists?.split(' ') ?? []) options[name] = { type: 'string', multiple: true }
  try {
    const { values } = parseArgs({ args: [...args], options, strict: true, allowPositionals: false })
    return values as OptionValues<Texts, Switches, Lists>
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
