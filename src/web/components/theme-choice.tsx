import type { VNode } from 'preact'
import { useId } from 'preact/hooks'
import { t } from '../language/texts.tsx'
import { useChoice } from './stored.ts'
import { applyTheme, THEME_KEY } from './theme.ts'

const TEXTS = {
  system: t('As the system'),
  light: t('Light'),
  dark: t('Dark'),
  contrast: t('High contrast'),
} as const

const THEMES = ['system', 'light', 'dark', 'contrast'] as const

/** Chooses the colours of the pages in this browser. */
export function ThemeChoice(): VNode {
  const id = useId()
  const [theme, choose] = useChoice(THEME_KEY, THEMES)
  return (
    // The label is not around the choice, since its text would have the texts of all options.
    <div class="theme">
      <label for={id}>{t('Colours')}</label>
      <select
        id={id}
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
    </div>
  )
}
