/** Values as they are read best: ids in short, money, counts and times, all with tabular figures. */
import { Copy } from './code.tsx'

/** An id, shortened in its middle; the button copies the whole. */
export function Id({ id, href }: { id: string; href?: string }) {
  const short = id.length > 18 ? `${id.slice(0, 8)}…${id.slice(-6)}` : id
  return (
    <span class="id">
      {href === undefined ? (
        <code title={id}>{short}</code>
      ) : (
        <a href={href} title={id}>
          {short}
        </a>
      )}
      <Copy text={id} label={`Copy ${id}`} />
    </span>
  )
}

/** Dollars: cents where that is exact enough, the first two figures that count where it is less. */
export function Money({ dollars }: { dollars: number | null }) {
  if (dollars === null) return <span class="soft">none</span>
  return (
    <span class="figure">
      <span class="unit">$</span>
      {moneyText(dollars)}
    </span>
  )
}

export function moneyText(dollars: number): string {
  const size = Math.abs(dollars)
  const digits = size === 0 || size >= 0.1 ? 2 : Math.min(9, Math.ceil(-Math.log10(size)) + 1)
  return numberText(dollars, 2, Math.max(2, digits))
}

/** Rates: whole from ten on, with a decimal below. */
export function rateText(rate: number): string {
  return numberText(rate, 0, rate < 10 ? 1 : 0)
}

/** By the decimals that they keep: to make one takes as long as to use it fifty times. */
const FORMATS: Record<string, Intl.NumberFormat> = {}

function numberText(value: number, minimumFractionDigits: number, maximumFractionDigits: number): string {
  const name = `${minimumFractionDigits}-${maximumFractionDigits}`
  FORMATS[name] ??= new Intl.NumberFormat('en-US', { minimumFractionDigits, maximumFractionDigits })
  return FORMATS[name].format(value)
}

/** A whole number with its groups, and a muted unit behind it. */
export function Count({ value, unit }: { value: number; unit?: string }) {
  return (
    <span class="figure">
      {value.toLocaleString('en-US')}
      {unit !== undefined && <span class="unit"> {unit}</span>}
    </span>
  )
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const

export function Bytes({ value }: { value: number }) {
  const at = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(value) / 3))
  const scaled = value / 1000 ** at
  return (
    <span class="figure" title={`${value.toLocaleString('en-US')} bytes`}>
      {at === 0 || scaled >= 100 ? Math.round(scaled) : scaled.toFixed(1)}
      <span class="unit"> {UNITS[at]}</span>
    </span>
  )
}

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const MINUTE = new Intl.DateTimeFormat('en-GB', {
  ...{ day: 'numeric', month: 'short', year: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
})

/** A time of here, with that of UTC on hover. */
export function Time({ at, dayOnly = false }: { at: string | null; dayOnly?: boolean }) {
  if (at === null) return <span class="soft">never</span>
  const date = new Date(at)
  return (
    <time dateTime={at} title={`${date.toISOString().replace('T', ' ').slice(0, 19)} UTC`}>
      {(dayOnly ? DAY : MINUTE).format(date)}
    </time>
  )
}

/** One of three states, or none: a sign, a colour and a word. */
export function State({ is, children }: { is: 'good' | 'attention' | 'bad' | 'quiet'; children: string }) {
  return <span class={`state ${is}`}>{children}</span>
}

/** How much of a whole is used. */
export function Meter({ used, of, label }: { used: number; of: number; label: string }) {
  const part = of > 0 ? Math.min(1, used / of) : 1
  const state = part >= 1 ? 'bad' : part >= 0.8 ? 'attention' : 'good'
  return (
    <span class={`meter ${state}`} role="img" aria-label={`${label}: ${Math.round(part * 100)} %`}>
      <span style={{ width: `${part * 100}%` }} />
    </span>
  )
}
