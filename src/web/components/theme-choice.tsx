import type { VNode } from 'preact'
import { useChoice } from './stored.ts'
import { applyTheme, THEME_KEY } from './theme.ts'

const TEXTS = {
  system: 'As the system',
  light: 'Light',
  dark: 'Dark',
  contrast: 'High contrast',
} as const

const THEMES = ['system', 'light', 'dark', 'contrast'] as const

/** Chooses the colours of the pages in this browser. */
export function ThemeChoice(): VNode {
  const [theme, choose] = useChoice(THEME_KEY, THEMES)
  return (
    <label>
      Colours
      <select
        value={theme}
        onChange={({ currentTarget: { value } }) => {
          const chosen = THEMES.find((name) => name === value) ?? 'system'
          choose(chosen)
          applyTheme(chosen)
        }}
      >
        {THEMES.map((name) => (
          <option key={name} value={name}>
            {TEXTS[name]}
          </option>
        ))}
      </select>
    </label>
  )
}
