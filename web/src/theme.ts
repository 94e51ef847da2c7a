// Light or dark: as the system says, until the person says otherwise.
const KEY = 'stayput-theme';

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

const system = matchMedia('(prefers-color-scheme: dark)');

function apply(): void {
  const chosen = stored();
  document.documentElement.dataset.theme = chosen ?? (system.matches ? 'dark' : 'light');
}

export function startTheme(): void {
  apply();
  system.addEventListener('change', apply);
}

export function toggleTheme(): void {
  const next = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // Private windows may have no storage; the choice then lasts as long as the page.
  }
  document.documentElement.dataset.theme = next;
}
