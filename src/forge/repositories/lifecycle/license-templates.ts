import { DomainError } from '../../core/errors.ts'

/** Values for the placeholders of a licence. */
export interface LicenseValues {
  /** Name of the holder of the copyright. */
  readonly owner: string
  readonly email: string
  /** Name of the repository. */
  readonly repository: string
  readonly year: number
}

/** Placeholders that stand for the same value in all texts, as compatible systems fill them. */
const PLACEHOLDERS: Readonly<Record<keyof LicenseValues, readonly string[]>> = {
  owner: [
    '<name of author>',
    '<owner>',
    '[NAME]',
    '[name of copyright owner]',
    '[name of copyright holder]',
    '<COPYRIGHT HOLDERS>',
    '<copyright holders>',
    '<AUTHOR>',
    "<author's name or designee>",
    '[fullname]',
  ],
  email: ['[EMAIL]'],
  repository: [
    '<program>',
    "<one line to give the program's name and a brief idea of what it does.>",
    "<one line to give the program's name and an idea of what it does.>",
  ],
  year: ['<year>', '[YEAR]', '{YEAR}', '[yyyy]', '[Year]', '[year]'],
}

/** A line whose capital words are placeholders, in the texts of 0BSD and of similar licences. */
const CAPITAL_LINE = /^Copyright \(C\) YEAR by AUTHOR EMAIL/m

/** Returns the identifiers of all licences, in order. */
export async function licenseNames(): Promise<readonly string[]> {
  return Object.keys(await readTexts()).sort()
}

/**
 * Returns the text of a licence.
 *
 * @throws TEMPLATE_NOT_FOUND
 */
export async function licenseText(name: string): Promise<string> {
  const text = await findLicenseText(name)
  if (text === undefined) throw new DomainError('TEMPLATE_NOT_FOUND', { name: name.slice(0, 100) })
  return text
}

/** Returns the text of a licence; undefined if there is none of this identifier. */
export async function findLicenseText(name: string): Promise<string | undefined> {
  const texts = await readTexts()
  return Object.hasOwn(texts, name) ? texts[name]?.licenseText : undefined
}

/** Replaces the placeholders of a licence. */
export function fillLicense(text: string, values: LicenseValues): string {
  let filled = text.replace(
    CAPITAL_LINE,
    () => `Copyright (C) ${values.year} by ${values.owner} <${values.email}>`,
  )
  for (const [value, placeholders] of Object.entries(PLACEHOLDERS)) {
    for (const placeholder of placeholders)
      filled = filled.replaceAll(placeholder, () => String(values[value as keyof LicenseValues]))
  }
  return filled
}

async function readTexts() {
  return (await import('./license-texts.ts')).LICENSE_TEXTS
}
