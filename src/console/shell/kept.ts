/** The little that the browser keeps: a theme, and by whom somebody signs in. It may also keep nothing. */

export function keep(name: string, text: string): void {
  try {
    localStorage.setItem(name, text)
  } catch {
    // Then it lasts as long as the page.
  }
}

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}
