import { DomainError } from '../../core/errors.ts'

/**
 * What build tools and editors write beside the sources, by the names that other forges use. No
 * npm package that is kept up to date has such texts, so these are our own, with the files that the
 * manuals of the tools name.
 */
const TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  C: ['*.o', '*.obj', '*.a', '*.lib', '*.so', '*.so.*', '*.dylib', '*.dll', '*.exe', '*.d'],
  'C++': ['*.o', '*.obj', '*.a', '*.lib', '*.so', '*.dylib', '*.dll', '*.exe', '*.gch', '*.pch'],
  CMake: ['CMakeCache.txt', 'CMakeFiles/', 'cmake_install.cmake', 'install_manifest.txt', 'build/'],
  Dotnet: ['[Bb]in/', '[Oo]bj/', '*.user', '*.suo', '.vs/', 'TestResults/', '*.nupkg'],
  Elixir: ['/_build/', '/cover/', '/deps/', '/doc/', 'erl_crash.dump', '*.ez'],
  Go: ['*.exe', '*.dll', '*.so', '*.dylib', '*.test', '*.out', 'coverage.*', 'go.work', '.env'],
  Gradle: ['.gradle/', 'build/', '!gradle/wrapper/gradle-wrapper.jar', 'local.properties'],
  Haskell: ['dist/', 'dist-newstyle/', '*.o', '*.hi', '.stack-work/', 'cabal.project.local'],
  Java: ['*.class', '*.jar', '*.war', '*.ear', '*.log', 'hs_err_pid*', 'replay_pid*'],
  Maven: [
    'target/',
    'pom.xml.tag',
    'pom.xml.releaseBackup',
    'release.properties',
    '.mvn/timing.properties',
  ],
  Node: [
    'node_modules/',
    'npm-debug.log*',
    'yarn-error.log*',
    '.npm/',
    '.eslintcache',
    '*.tsbuildinfo',
    'coverage/',
    '.env',
    '.env.*',
    '!.env.example',
    '*.tgz',
  ],
  PHP: ['/vendor/', '.phpunit.result.cache', '.php-cs-fixer.cache', '.env'],
  Python: [
    '__pycache__/',
    '*.py[cod]',
    '*.egg-info/',
    '.eggs/',
    'build/',
    'dist/',
    '*.whl',
    '.venv/',
    'venv/',
    '.pytest_cache/',
    '.mypy_cache/',
    '.ruff_cache/',
    '.coverage',
    'htmlcov/',
    '.tox/',
    '.env',
  ],
  R: ['.Rhistory', '.RData', '.Rproj.user/', '.Renviron', '*.Rcheck/'],
  Ruby: [
    '*.gem',
    '/.bundle/',
    '/vendor/bundle/',
    '/coverage/',
    '/tmp/',
    '/pkg/',
    '.byebug_history',
  ],
  Rust: ['target/', '**/*.rs.bk', '*.pdb'],
  Scala: ['*.class', '*.log', 'target/', '.bsp/', '.metals/', '.bloop/'],
  Swift: ['.build/', 'DerivedData/', 'xcuserdata/', '*.xcuserstate', 'Packages/'],
  TeX: [
    '*.aux',
    '*.log',
    '*.out',
    '*.toc',
    '*.lof',
    '*.lot',
    '*.bbl',
    '*.blg',
    '*.fls',
    '*.fdb_latexmk',
    '*.synctex.gz',
  ],
  Terraform: ['.terraform/', '*.tfstate', '*.tfstate.*', 'crash.log', '*.tfvars', 'override.tf'],
  Zig: ['.zig-cache/', 'zig-out/'],
  JetBrains: ['.idea/', '*.iml', 'out/'],
  Linux: ['*~', '.fuse_hidden*', '.directory', '.Trash-*', '.nfs*'],
  macOS: ['.DS_Store', '.AppleDouble', '._*', '.Spotlight-V100', '.Trashes'],
  Vim: ['[._]*.s[a-v][a-z]', '[._]*.sw[a-p]', 'Session.vim', '.netrwhist', '*~'],
  VisualStudioCode: [
    '.vscode/*',
    '!.vscode/settings.json',
    '!.vscode/tasks.json',
    '!.vscode/launch.json',
    '*.code-workspace',
  ],
  Windows: ['Thumbs.db', 'ehthumbs.db', 'Desktop.ini', '$RECYCLE.BIN/', '*.lnk'],
}

/** Returns the names of all templates, in order. */
export function gitignoreNames(): readonly string[] {
  return Object.keys(TEMPLATES).sort()
}

/**
 * Returns the text of a template.
 *
 * @throws TEMPLATE_NOT_FOUND
 */
export function gitignoreText(name: string): string {
  const text = findGitignoreText(name)
  if (text === undefined) throw new DomainError('TEMPLATE_NOT_FOUND', { name: name.slice(0, 100) })
  return text
}

/** Returns the text of a template; undefined if there is none of this name. */
export function findGitignoreText(name: string): string | undefined {
  const lines = Object.hasOwn(TEMPLATES, name) ? TEMPLATES[name] : undefined
  return lines && `${lines.join('\n')}\n`
}

/** A label that a set adds to a new repository. */
interface LabelTemplate {
  readonly name: string
  /** Six hexadecimal digits. */
  readonly color: string
  readonly description: string
  readonly exclusive: boolean
}

/** The sets that users of compatible systems know: name, colour, description. */
const SETS: Readonly<Record<string, readonly LabelTemplate[]>> = {
  Advanced: [
    label('Kind/Breaking', 'c62828', 'Changes what others rely on', true),
    label('Kind/Bug', 'ee0701', 'Something is not working', true),
    label('Kind/Documentation', '37474f', 'About the documentation', true),
    label('Kind/Enhancement', '84b6eb', 'Improves what exists', true),
    label('Kind/Feature', '0288d1', 'Something new', true),
    label('Kind/Security', '9c27b0', 'About security', true),
    label('Kind/Testing', '795548', 'About tests', true),
    label('Priority/Critical', 'b71c1c', 'Before everything else', true),
    label('Priority/High', 'd32f2f', 'Soon', true),
    label('Priority/Low', '4caf50', 'When there is time', true),
    label('Priority/Medium', 'e64a19', 'In its turn', true),
    label('Reviewed/Confirmed', '795548', 'Somebody has reproduced it', true),
    label('Reviewed/Duplicate', '616161', 'Reported before', true),
    label('Reviewed/Invalid', '546e7a', 'Not a fault of this project', true),
    label("Reviewed/Won't Fix", 'eeeeee', 'Stays as it is', true),
    label('Status/Abandoned', '222222', 'Nobody works on it any more', true),
    label('Status/Blocked', '880e4f', 'Waits for something else', true),
    label('Status/Need More Info', '424242', 'Waits for an answer of its author', true),
  ],
  Default: [
    label('bug', 'ee0701', 'Something is not working'),
    label('duplicate', 'cccccc', 'Reported before'),
    label('enhancement', '84b6eb', 'New feature'),
    label('help wanted', '128a0c', 'Help is welcome'),
    label('invalid', 'e6e6e6', 'Something is wrong with the report'),
    label('question', 'cc317c', 'More information is needed'),
    label('wontfix', 'ffffff', 'Stays as it is'),
  ],
}

/** Returns the names of all sets, in order. */
export function labelSetNames(): readonly string[] {
  return Object.keys(SETS).sort()
}

/**
 * Returns the labels of a set.
 *
 * @throws TEMPLATE_NOT_FOUND
 */
export function labelSet(name: string): readonly LabelTemplate[] {
  const labels = findLabelSet(name)
  if (!labels) throw new DomainError('TEMPLATE_NOT_FOUND', { name: name.slice(0, 100) })
  return labels
}

/** Returns the labels of a set; undefined if there is none of this name. */
export function findLabelSet(name: string): readonly LabelTemplate[] | undefined {
  return Object.hasOwn(SETS, name) ? SETS[name] : undefined
}

function label(name: string, color: string, description: string, exclusive = false): LabelTemplate {
  return { name, color, description, exclusive }
}

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
