/** The screen that the address names. The one before stays until the next is there. */
import { Component, type ComponentType } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'
import { Empty, Note } from '../kit/note.tsx'
import { SCREENS } from '../screens/registry.ts'
import type { ScreenProps } from '../screens/screen.ts'
import { place, to } from './location.ts'
import { openScreens } from './open-screens.ts'

interface Loaded {
  readonly path: string
  readonly Screen: ComponentType<ScreenProps>
}

type Shown = Loaded | { readonly path: string; readonly failed: true } | null

export function Outlet() {
  const open = openScreens()
  const path = place.value.screen || open[0]?.path
  const entry = open.find((screen) => screen.path === path)
  const [shown, setShown] = useState<Shown>(null)
  // The screen is known in most cases, and is drawn in the same picture in which the address changes.
  useLayoutEffect(() => {
    if (entry === undefined) return
    let isHere = true
    const { path } = entry
    import('../screens/all.ts').then(
      ({ VIEWS }) => isHere && setShown({ path, Screen: VIEWS[path]! }),
      () => isHere && setShown({ path, failed: true }),
    )
    return () => {
      isHere = false
    }
  }, [entry])
  // Who has no role has no first screen either.
  if (entry === undefined)
    return <Nowhere isKnown={path === undefined || SCREENS.some((screen) => screen.path === path)} />
  if (shown === null) return null
  if ('failed' in shown) return <Outdated />
  const { id } = place.value
  const Screen = shown.Screen
  return (
    <Fence key={`${shown.path}/${id}`}>
      <Arrival />
      <Screen id={shown.path === path ? id : null} />
    </Fence>
  )
}

/** Once for each screen: its title gets the focus, unless something asked for it. */
let isFirst = true

function Arrival() {
  useLayoutEffect(() => {
    const focused = document.activeElement
    const isFree = focused === null || focused === document.body || focused.closest('dialog') === null
    // The page that was opened first begins where pages begin.
    if (!isFirst && isFree) document.querySelector<HTMLElement>('#content h1')?.focus({ preventScroll: true })
    if (!isFirst) window.scrollTo(0, 0)
    isFirst = false
  }, [])
  return null
}

function Nowhere({ isKnown }: { isKnown: boolean }) {
  return (
    <div class="page">
      <Empty title={isKnown ? 'This screen is not for you' : 'There is no such screen'}>
        {isKnown ? 'Your role does not open it. An admin of your organization can. ' : ''}
        <a href={to('')}>Go to the first screen</a>
      </Empty>
    </div>
  )
}

function Outdated() {
  return (
    <div class="page">
      <Note is="attention">
        <p>This page is of an earlier version of the server.</p>
        <button type="button" onClick={() => window.location.reload()}>
          Load it anew
        </button>
      </Note>
    </div>
  )
}

/** A screen that fails takes nothing else along. */
class Fence extends Component<object, { failed: boolean }> {
  override state = { failed: false }

  override componentDidCatch(error: unknown): void {
    console.error(error)
    this.setState({ failed: true })
  }

  override render() {
    if (!this.state.failed) return this.props.children
    return (
      <div class="page">
        <Note is="bad">This screen has failed. What it was about to show is in the browser’s console.</Note>
      </div>
    )
  }
}
