/** Tools and plugins as far as the screen shows them. */
export const TOOLS = 'api/v1/tools'

interface Means {
  readonly needs: string | null
  readonly backends: readonly string[]
  readonly price: number
}

export interface Tool extends Means {
  readonly name: string
  readonly enabled: boolean
  readonly timeout_ms: number
  readonly calls_per_minute_per_key: number | null
  readonly calls_per_minute_per_organization: number | null
}

export interface Plugin extends Means {
  readonly id: string
  readonly price_per: 'call' | 'page' | null
  readonly defaults: readonly {
    readonly options: Readonly<Record<string, unknown>>
    readonly organizations: readonly string[] | null
    readonly overridable: boolean
  }[]
}

export interface Terms {
  readonly max_calls: number
  readonly tools: readonly Tool[]
  readonly plugins: readonly Plugin[]
}
