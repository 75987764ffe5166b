/** Calls as a browser makes them: with the cookies that it keeps, and with what it says of who has caused them. */

/** Of one browser at one server; `__Host-` cookies alone. */
export class BrowserCalls {
  /** Values by name. */
  readonly cookies = new Map<string, string>()

  constructor(private readonly origin: string) {}

  /** A call of a page of the server itself. */
  async fetch(
    path: string,
    {
      method = 'GET',
      headers = {},
      body,
    }: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ): Promise<Response> {
    return this.call(
      path,
      { method, ...(body !== undefined && { body }) },
      {
        'Sec-Fetch-Site': 'same-origin',
        ...(method !== 'GET' && { Origin: this.origin, 'X-Sluice-Request': '1' }),
        ...headers,
      },
    )
  }

  /** A page that somebody opens, or is sent to; redirects are not followed. */
  async open(
    path: string,
    site: 'none' | 'cross-site' | 'same-site' | 'same-origin' = 'none',
  ): Promise<Response> {
    return this.call(path, {}, { 'Sec-Fetch-Site': site, Accept: 'text/html' })
  }

  /** The cookies go along whatever caused the call: what counts is for the server to say. */
  async call(path: string, init: RequestInit, headers: Record<string, string>): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(new URL(path, this.origin), {
      redirect: 'manual',
      ...init,
      headers: { ...(cookie !== '' && { Cookie: cookie }), ...headers },
    })
    for (const line of response.headers.getSetCookie()) this.keep(line)
    return response
  }

  private keep(line: string): void {
    const [pair = '', ...attributes] = line.split('; ')
    const [name = '', value = ''] = pair.split('=')
    if (!name.startsWith('__Host-') || !attributes.includes('Secure') || !attributes.includes('Path=/')) {
      throw new Error(`a browser drops the cookie ${line}`)
    }
    if (attributes.includes('Max-Age=0')) this.cookies.delete(name)
    else this.cookies.set(name, value)
  }
}
