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
