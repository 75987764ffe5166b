/** Shapes of answers: their schemas, and how records become them. */
import { z } from 'zod'
import { isoTime } from '../base/clock.js'

/** Of an answer that holds a resource, or several. */
export const dataAnswer = <Data extends z.ZodType>(data: Data) => z.object({ data })

/** Of a page of a list. */
export const pageAnswer = <Entry extends z.ZodType>(entry: Entry) =>
  z.object({ data: z.array(entry), total_count: z.int() })

export const DeletedAnswer = z.object({ deleted: z.literal(true) })

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

/** A record that has the members of an answer: in camel case, times as Unix milliseconds. */
type RecordOf<Answer> = {
  readonly [Name in keyof Answer & string as CamelCase<Name>]: Name extends `${string}_at`
    ? number | Extract<Answer[Name], null>
    : NonNullable<Answer[Name]> extends (infer Entry)[]
      ? readonly Entry[] | Extract<Answer[Name], null>
      : Answer[Name]
}

/** Turns records into answers of a schema: its members, in its order, times as ISO 8601 with milliseconds. */
export function recordEncoder<Schema extends z.ZodObject>(
  schema: Schema,
): (record: RecordOf<z.infer<Schema>>) => z.infer<Schema> {
  const members = Object.keys(schema.shape).map((name) => ({
    name,
    source: name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    isTime: name.endsWith('_at'),
  }))
  return (record) => {
    const values: Readonly<Record<string, unknown>> = record
    const encode = (value: unknown, isTime: boolean): unknown =>
      isTime && value !== null ? isoTime(value as number) : value
    const answer = members.map(({ name, source, isTime }) => [name, encode(values[source], isTime)])
    return Object.fromEntries(answer) as z.infer<Schema>
  }
}
