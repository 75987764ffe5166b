/** Icons of 16 by 16, drawn with one line. They stand beside words, which say the same. */

const PATHS = {
  good: 'M3.5 8.5l3 3 6-7',
  attention: 'M8 2.5l6 11H2zM8 6.5v3.2M8 11.6v.2',
  bad: 'M8 2a6 6 0 100 12A6 6 0 008 2zM6 6l4 4M10 6l-4 4',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M6 5.5h7v8H6zM10 5.5v-3H3v8h3',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  search: 'M7 2.5a4.5 4.5 0 100 9 4.5 4.5 0 000-9zM10.5 10.5l3.5 3.5',
  plus: 'M8 3v10M3 8h10',
  more: 'M3.5 8h.1M8 8h.1M12.5 8h.1',
  next: 'M6 3.5L10.5 8 6 12.5',
  leave: 'M6.5 2.5h-4v11h4M6.5 8H14M11 5l3 3-3 3',
  person: 'M8 2.5a2.7 2.7 0 100 5.4 2.7 2.7 0 000-5.4zM2.8 13.5c.6-2.6 2.6-4 5.2-4s4.6 1.4 5.2 4',
  overview: 'M2.5 13.5v-4M6.2 13.5v-8M9.8 13.5v-5.5M13.5 13.5v-11',
  chat: 'M2.5 3h11v7.5h-6l-3 3v-3h-2z',
  list: 'M2.5 4h.1M5.5 4h8M2.5 8h.1M5.5 8h8M2.5 12h.1M5.5 12h8',
  chart: 'M2.5 2.5v11h11M5 10l2.5-3 2 1.5L13 4.5',
  key: 'M5 8a2.5 2.5 0 100 5 2.5 2.5 0 000-5zM7 9l6-6M10.5 5.5l2 2',
  coin: 'M8 2a6 6 0 100 12A6 6 0 008 2zM9.8 5.8C9 5 6.3 5 6.3 6.6c0 1.8 3.5 1 3.5 2.8 0 1.6-2.8 1.6-3.6.6M8 4.2v7.6',
  shield: 'M8 2l5 1.8v3.7c0 3.2-2 5.3-5 6.5-3-1.2-5-3.3-5-6.5V3.8zM6 8l1.5 1.5L10.2 6.5',
  people:
    'M6 3a2.3 2.3 0 100 4.6A2.3 2.3 0 006 3zM1.8 13c.4-2.4 2-3.7 4.2-3.7s3.8 1.3 4.2 3.7M10.5 3.2a2.2 2.2 0 010 4.2M12 9.6c1.300.5 2.1 1.7 2.3 3.4',
  directory: 'M6 2.5h4v3H6zM2 10.5h4v3H2zM10 10.5h4v3h-4zM8 5.5V8M4 10.5V8h8v2.5',
  route: 'M3.5 3.5h.1M3.5 5.5v3c0 2 1 3 3 3h3M12.5 11.5h.1M7 4.5h5.5M10.5 2.5l2 2-2 2',
  box: 'M2.5 5.3L8 2.5l5.5 2.8v5.5L8 13.5l-5.5-2.7zM2.5 5.3L8 8.1l5.5-2.8M8 8.1v5.4',
  building: 'M3.5 13.5v-11h9v11M2 13.5h12M6.2 5.5h.1M9.7 5.5h.1M6.2 8.3h.1M9.7 8.3h.1M7 13.5v-2.5h2v2.5',
  tool: 'M9.8 6.2l3.7-3.7M6.2 9.8L2.5 13.5M9 2.5c2.5-.8 5.3 2 4.5 4.5M7 13.5c-2.5.8-5.3-2-4.5-4.5M6.2 9.8l3.6-3.6',
  file: 'M4 2h5l3 3v9H4zM9 2v3h3',
  audit: 'M3 2.5h10v11H3zM5.5 5.5h5M5.5 8h5M5.5 10.5h3',
  machine: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1',
  flask: 'M6.5 2v4.5l-3.5 7h10l-3.5-7V2M5.5 2h5M5 10h6',
  settings: 'M2.5 5h6M11.5 5h2M10 3.5v3M2.5 11h2M7.5 11h6M6 9.5v3',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}
