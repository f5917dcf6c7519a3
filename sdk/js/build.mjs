// Compiles src into dist/esm and dist/cjs. The compiler is that of test/package.json.
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('.', import.meta.url)))
rmSync('dist', { recursive: true, force: true })

const tsc = (...flags) => execFileSync(process.execPath, ['test/node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', ...flags], { stdio: 'inherit' })

tsc()
tsc('--module', 'commonjs', '--moduleResolution', 'node10', '--ignoreDeprecations', '5.0', '--outDir', 'dist/cjs')
// In a package of ES modules CommonJS is named .cjs, and its types .d.cts.
for (const name of readdirSync('dist/cjs', { recursive: true })) {
  if (!name.endsWith('.js') && !name.endsWith('.d.ts')) continue
  const file = join('dist/cjs', name)
  const text = readFileSync(file, 'utf8').replace(/(["'])(\.\.?\/[^"']+)\.js\1/g, '$1$2.cjs$1')
  writeFileSync(file.replace(/\.d\.ts$/, '.d.cts').replace(/\.js$/, '.cjs'), text)
  rmSync(file)
}
