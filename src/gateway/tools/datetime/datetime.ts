/** Tells a model what time it is (contract/tools 3.1). */
import type { Clock } from '../../../base/clock.js'
import type { PreparedTool, ServerTool, ToolCallInput, ToolFunction, ToolOutcome } from '../port/tool.js'

const FUNCTION: ToolFunction = {
  name: 'datetime',
  description: 'The current date and time, with the offset of a time zone.',
  parameters: {
    type: 'object',
    properties: {
      timezone: { type: 'string', description: 'Name of an IANA time zone, such as Europe/London.' },
    },
  },
}

/** A zone of the request is checked before anything runs, one that the model asks for when it does. */
export function createDatetimeTool(clock: Pick<Clock, 'unixSeconds'>): ServerTool {
  return {
    name: 'datetime',
    prepare({ parameters }) {
      const zone = parameters.timezone ?? 'UTC'
      if (formatOf(zone) === null) {
        return { refused: 'must be the name of an IANA time zone', member: ['parameters', 'timezone'] }
      }
      return preparedFor(String(zone), clock)
    },
  }
}

function preparedFor(zone: string, clock: Pick<Clock, 'unixSeconds'>): PreparedTool {
  return {
    functions: [FUNCTION],
    backend: 'intl',
    fee: () => 0,
    run: async ({ arguments: { timezone } }: ToolCallInput) => tell(timezone ?? zone, clock.unixSeconds()),
  }
}

function tell(zone: unknown, unixSeconds: number): ToolOutcome {
  const format = formatOf(zone)
  if (format === null) {
    const content = { error: 'timezone must be the name of an IANA time zone, such as Europe/London' }
    return { content, isError: true, executed: false, charged: 0 }
  }
  const content = { datetime: isoTimeIn(format, unixSeconds), timezone: zone }
  return { content, isError: false, executed: true, charged: 0 }
}

const LONGEST_NAME = 64

/** Null where it is no zone. Offsets such as `+02:00`, which `Intl` takes as well, are no names of zones. */
function formatOf(zone: unknown): Intl.DateTimeFormat | null {
  if (typeof zone !== 'string' || zone.length > LONGEST_NAME || !/^[A-Za-z]/.test(zone)) return null
  try {
    return new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: zone, calendar: 'iso8601', numberingSystem: 'latn', hourCycle: 'h23' },
      ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
      ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 },
      timeZoneName: 'longOffset',
    })
  } catch {
    return null
  }
}

/** `2025-07-15T14:30:00.000-04:00`. */
function isoTimeIn(format: Intl.DateTimeFormat, unixSeconds: number): string {
  const parts = new Map(format.formatToParts(unixSeconds * 1000).map(({ type, value }) => [type, value]))
  const of = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? ''
  const date = `${of('year').padStart(4, '0')}-${of('month')}-${of('day')}`
  const time = `${of('hour')}:${of('minute')}:${of('second')}.${of('fractionalSecond')}`
  return `${date}T${time}${of('timeZoneName').replace('GMT', '') || '+00:00'}`
}
