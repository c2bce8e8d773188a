import type { VNode } from 'preact'

/** The number of colours in `src/web/design/components.css`. */
const COLOURS = 6

/**
 * The first letter of a name on a colour that the name decides. The letter needs no request, and is
 * the same on private instances. Screen readers leave the letter out, since the name is beside it.
 */
export function Avatar({ name }: { name: string }): VNode {
  const [first = '?'] = name
  const colour = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9973, 7)
  return (
    <span
      class={`avatar avatar-${colour % COLOURS}`}
      aria-hidden="true"
      data-letter={first.toUpperCase()}
    />
  )
}
