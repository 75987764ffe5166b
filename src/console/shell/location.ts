/** Where in the console somebody is: screen, record and filters, all in the address. */
import { signal } from '@preact/signals'
import { queryOf, ROOT } from '../api/call.ts'

const CONSOLE = `${ROOT}console`

interface Place {
  /** `''` for the first screen. */
  readonly screen: string
  readonly id: string | null
  readonly query: URLSearchParams
}

/** The place of the moment. */
export const place = signal(placeOf(new URL(window.location.href)))

type Query = Readonly<Record<string, string | number | boolean | null | undefined>>

/** The address of a place, for `href`. */
export function to(screen: string, id: string | null = null, query: Query = {}): string {
  const path = [CONSOLE, screen, id].filter((part) => part !== null && part !== '')
  const [root, ...parts] = path as string[]
  return [root, ...parts.map(encodeURIComponent)].join('/') + queryOf(query)
}

export function navigate(href: string, { replace = false } = {}): void {
  const url = new URL(href, window.location.href)
  if (replace) history.replaceState(null, '', url)
  else history.pushState(null, '', url)
  place.value = placeOf(url)
}

/** Changes filters of the place; what is null or empty goes. No step back leads to the filters before. */
export function setQuery(changes: Query): void {
  const { screen, id, query } = place.value
  navigate(to(screen, id, { ...Object.fromEntries(query), ...changes }), { replace: true })
}

/** From now on links within the console change the place without loading the page. */
export function followLinks(): void {
  window.addEventListener('popstate', () => {
    place.value = placeOf(new URL(window.location.href))
  })
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (
      link === null ||
      event.defaultPrevented ||
      event.button !== 0 ||
      link.target !== '' ||
      link.download !== ''
    )
      return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const { origin, pathname } = link
    if (origin !== window.location.origin || (pathname !== CONSOLE && !pathname.startsWith(`${CONSOLE}/`)))
      return
    event.preventDefault()
    navigate(link.href)
  })
}

function placeOf(url: URL): Place {
  const [screen = '', id = null] = url.pathname.slice(CONSOLE.length).split('/').filter(Boolean).map(decoded)
  return { screen, id, query: url.searchParams }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
