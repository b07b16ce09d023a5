import { defineConfig } from '@playwright/test'

const executablePath = process.env.PLAYWRIGHT_CHROMIUM_PATH

export default defineConfig({
  testDir: '.',
  testMatch: '*.e2e.ts',
  outputDir: '../test-results',
  // A test waits for clusters more than it works: two of them fill two cores, whatever the machine has.
  workers: 2,
  forbidOnly: true,
  // As for tests of real processes (vitest.config.ts): whoever needs it is named at the end.
  retries: 1,
  // What is met ends at once: so long takes a machine that is many times slower than any of ours.
  timeout: 900_000,
  expect: { timeout: 90_000 },
  use: {
    viewport: { width: 1440, height: 900 },
    trace: 'retain-on-failure',
    launchOptions: {
      ...(executablePath ? { executablePath } : {}),
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
})
