/** What stands around a screen: navigation, the palette's button, and who has signed in. */
import { useEffect, useState } from 'preact/hooks'
import { ROOT } from '../api/call.ts'
import { Icon } from '../kit/icon.tsx'
import { Menu } from '../kit/menu.tsx'
import { place, to } from './location.ts'
import { Logo } from './logo.tsx'
import { openScreens } from './open-screens.ts'
import { Outlet } from './outlet.tsx'
import { Palette } from './palette.tsx'
import { session, signOut } from './session.ts'
import { setTheme, type Theme, theme } from './theme.ts'

const GROUPS = ['Observe', 'Use', 'Organization', 'Machine'] as const
const SIDE = 'navigation'

export function Frame() {
  const [isSearching, setSearching] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setSearching(true)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  // On a narrow screen the navigation is a popover, which a chosen link closes.
  useEffect(() => {
    const side = document.getElementById(SIDE)
    if (side?.matches(':popover-open')) side.hidePopover()
  }, [place.value])
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="bar">
        <button
          type="button"
          class="plain icon-only only-narrow"
          aria-label="Navigation"
          popovertarget={SIDE}
        >
          <Icon name="menu" />
        </button>
        <a class="home" href={to('')} aria-label="Sluice console, first screen">
          <Logo />
        </a>
        <button type="button" class="search" onClick={() => setSearching(true)}>
          <Icon name="search" />
          <span>Search</span>
          <kbd>Ctrl K</kbd>
        </button>
        <Account />
      </header>
      <Navigation />
      <main id="content" tabIndex={-1}>
        <Outlet />
      </main>
      {isSearching && <Palette close={() => setSearching(false)} />}
    </div>
  )
}

function Navigation() {
  const screens = openScreens()
  const current = place.value.screen || screens[0]?.path
  return (
    <nav id={SIDE} class="side" popover="auto" aria-label="Screens">
      {GROUPS.map((group) => {
        const within = screens.filter((screen) => screen.group === group)
        return (
          within.length > 0 && (
            <div key={group}>
              <h2>{group}</h2>
              <ul>
                {within.map(({ path, title, icon }) => (
                  <li key={path}>
                    <a href={to(path)} aria-current={path === current ? 'page' : undefined}>
                      <Icon name={icon} />
                      {title}
                    </a>
                  </li>
                ))}
              </ul>
            </div>
          )
        )
      })}
    </nav>
  )
}

const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
]

function Account() {
  const { organization, member, operator, kind } = session.value!
  const role = operator ? 'Operator' : kind === 'management' ? 'Management key' : 'Member'
  return (
    <Menu
      label={`Account: ${member?.user_name ?? organization.name}`}
      class="plain account"
      button={
        <>
          <Icon name="person" />
          <span class="account-name">{member?.user_name ?? organization.name}</span>
        </>
      }
    >
      <div class="menu-head">
        <strong>{member?.user_name ?? organization.name}</strong>
        <span class="soft">
          {role} · {organization.name}
        </span>
      </div>
      <fieldset class="segments">
        <legend>Theme</legend>
        {THEMES.map(([value, title]) => (
          <label key={value}>
            <input
              type="radio"
              name="theme"
              checked={theme.value === value}
              onChange={() => setTheme(value)}
            />
            <span>{title}</span>
          </label>
        ))}
      </fieldset>
      <a href={`${ROOT}docs/guide`}>Documentation</a>
      <a href={`${ROOT}docs`}>API operations</a>
      <button type="button" class="plain" onClick={() => void signOut()}>
        Sign out
      </button>
    </Menu>
  )
}
